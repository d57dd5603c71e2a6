#include "libs/answers/internal/word_roles.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

struct Words {
  WordRole role;
  std::string_view words;
};

constexpr Words kWords[] = {
    {WordRole::kFiller,
     "therefore thus hence then so clearly simply just exactly precisely obviously evidently indeed also "
     "still "
     "actually now again finally only equal to by given a an the this that of value values number numbers "
     "point "
     "points set interval pair ordered triple polynomial function fraction decimal matrix vector expression "
     "equation total maximum minimum integer integers prime real all solution solutions answer answers final "
     "correct option choice letter both either it we there as usd rs about approximately roughly approx "
     "around"},
    {WordRole::kCopula,
     "is are be equals was were becomes has have had costs cost needs takes makes earns gets weighs gives "
     "contains"},
    {WordRole::kJoiner, "and or and/or"},
    {WordRole::kTurn, "but rather instead"},
    {WordRole::kNegation, "not never neither nor cannot no none without nobody"},
    {WordRole::kHedge,
     "between than less more fewer greater least most half twice double triple thrice square root cube "
     "inverse "
     "reciprocal opposite except excluding divisible from over under above below times multiple multiplied "
     "plus minus power logarithm"},
    {WordRole::kCombines, "sum product difference quotient ratio remainder"},
    {WordRole::kCondition, "for when with at on in"},
    {WordRole::kRestates, "i.e. namely meaning"},
    {WordRole::kDoubt,
     "if unless otherwise else maybe perhaps possibly alternatively depending whether suppose assume "
     "assuming "
     "doubt"},
#define COHORT_WORDS(role, words) {WordRole::role, words},
#define COHORT_DECIMAL_COMMA_WORDS(role, words) {WordRole::role, words},
#include "libs/answers/internal/foreign_words.def"
#undef COHORT_WORDS
#undef COHORT_DECIMAL_COMMA_WORDS
};

constexpr std::string_view kDecimalCommaWords[] = {
#define COHORT_WORDS(role, words)
#define COHORT_DECIMAL_COMMA_WORDS(role, words) words,
#include "libs/answers/internal/foreign_words.def"
#undef COHORT_WORDS
#undef COHORT_DECIMAL_COMMA_WORDS
};

constexpr std::string_view kAnds[] = {"and", "和", "与", "與",   "以及", "及", "및", "와", "과",
                                      "und", "et", "и",  "oraz", "och",  "og", "और", "và"};

// Of what follows an answer; some of them are fillers before it.
constexpr std::string_view kRemarks[] = {
    "because",   "since",    "as",     "which",  "who",           "whose",   "where",  "so",
    "therefore", "thus",     "hence",  "while",  "after",         "given",   "that",   "this",
    "giving",    "we",       "i",      "about",  "approximately", "roughly", "around", "因为",
    "因為",      "由于",     "由於",   "所以",   "因此",          "其中",    "也就是", "ので",
    "つまり",    "なぜなら", "때문",   "따라서", "왜냐하면",      "weil",    "denn",   "car",
    "parce",     "puisque",  "porque", "pues",   "perché",        "poiché",  "pois",   "want",
    "omdat",     "потому",   "так"};

constexpr std::string_view kHarmless[] = {"hard", "difficult", "too", "only", "surprising", "surprisingly"};

constexpr std::string_view kBelieving[] = {"think", "believe",  "sure", "certain",
                                           "true",  "possible", "know", "agree"};

constexpr std::string_view kDenials[] = {
    "wrong",    "incorrect",  "false",      "invalid",      "extraneous",  "impossible", "rejected",
    "excluded", "mistaken",   "untrue",     "inadmissible", "错误",        "錯誤",       "不正确",
    "不对",     "間違い",     "falsch",     "falsche",      "faux",        "fausse",     "falso",
    "falsa",    "incorrecto", "incorrecta", "неверно",      "неправильно", "неверный",   "неправильный"};

constexpr std::string_view kAbbreviations[] = {"sq", "approx", "vs", "rs", "cf", "dr", "mr", "mrs"};

template <size_t kSize>
bool is_among(const std::string_view (&words)[kSize], const std::string& word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

using Table = std::unordered_map<std::string, WordRole>;

Table make_table() {
  Table table;
  for (const Words& entry : kWords) {
    std::string_view rest = entry.words;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      table.emplace(rest.substr(0, end), entry.role);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return table;
}

const Table& role_table() {
  static const Table table = make_table();
  return table;
}

}  // namespace

WordRole word_role(std::string_view word) {
  const std::string lower = lower_case(word);
  const auto found = role_table().find(lower);
  if (found != role_table().end()) return found->second;
  if (lower.ends_with("n't") || lower.ends_with("n\u2019t")) return WordRole::kNegation;
  return is_arithmetic_word(lower) ? WordRole::kHedge : WordRole::kOther;
}

bool has_decimal_comma(std::string_view word) {
  const std::string padded = " " + lower_case(word) + " ";
  return std::any_of(std::begin(kDecimalCommaWords), std::end(kDecimalCommaWords),
                     [&](std::string_view words) {
                       return (" " + std::string(words) + " ").find(padded) != std::string::npos;
                     });
}

bool joins_all(std::string_view word) { return is_among(kAnds, lower_case(word)); }

size_t cjk_word_length(std::string_view text) {
  constexpr size_t kMaxCharacters = 10;
  const std::string_view limited = text.substr(0, 4 * kMaxCharacters);
  size_t longest = 0;
  for (size_t end = character_length(limited, 0); end <= limited.size();) {
    const std::string word(limited.substr(0, end));
    const bool is_known = role_table().contains(word) || is_among(kRemarks, word) || is_among(kDenials, word);
    if (is_known || find_number_word(word)) longest = end;
    if (end == limited.size() || static_cast<unsigned char>(limited[end]) < 0x80) break;
    end += character_length(limited, end);
  }
  return longest;
}

bool starts_remark(std::string_view word) { return is_among(kRemarks, lower_case(word)); }

bool is_harmless_behind_not(std::string_view word) { return is_among(kHarmless, lower_case(word)); }

bool is_believing(std::string_view word) { return is_among(kBelieving, lower_case(word)); }

bool denies_answer(std::string_view word) { return is_among(kDenials, lower_case(word)); }

bool is_abbreviation(std::string_view word) { return is_among(kAbbreviations, lower_case(word)); }

}  // namespace cohort::answers
