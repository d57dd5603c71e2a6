#include "libs/answers/internal/nouns.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "libs/answers/internal/number_names.h"
#include "libs/answers/internal/prose.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

template <size_t kSize>
bool is_among(const std::string_view (&words)[kSize], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr std::string_view kRemarks[] = {
    "in total", "in all",   "altogether", "total", "overall", "each",   "apiece", "left", "remaining",
    "needed",   "required", "old",        "long",  "tall",    "wide",   "high",   "deep", "away",
    "earned",   "saved",    "sold",       "spent", "used",    "worked", "walked"};

// Verbs and what else stands behind a number without naming what it counts; roles and endings tell most.
constexpr std::string_view kNoNouns[] = {
    "am",     "pm",     "ago",       "ahead",  "again", "almost", "another", "approx",      "beneath",
    "before", "after",  "behind",    "binary", "can",   "could",  "did",     "do",          "does",
    "down",   "early",  "except",    "fail",   "fails", "few",    "given",   "guess",       "hope",
    "ish",    "it",     "it's",      "late",   "like",  "likely", "many",    "may",         "might",
    "mod",    "modulo", "much",      "must",   "nah",   "nearly", "nope",    "octal",       "off",
    "ok",     "okay",   "past",      "please", "quite", "say",    "says",    "short",       "should",
    "so",     "there",  "therefore", "think",  "thus",  "too",    "until",   "up",          "very",
    "was",    "we",     "will",      "works",  "would", "yes",    "you",     "hexadecimal", "modulus"};

// They end like verbs and are none.
constexpr std::string_view kNouns[] = {"building", "painting", "morning",  "evening", "string",
                                       "spring",   "serving",  "sibling",  "meeting", "shilling",
                                       "thing",    "family",   "butterfly"};

constexpr std::string_view kArticles[] = {"the", "a",   "an",    "each", "every",
                                          "his", "her", "their", "our",  "its"};

constexpr std::string_view kPrepositions[] = {"in", "on", "at", "for", "with", "per"};

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> parts;
  while (!words.empty()) {
    const size_t end = std::min(words.find_first_of(" -"), words.size());
    if (end > 0) parts.push_back(lower_case(words.substr(0, end)));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return parts;
}

// Possibly; and at the end of a phrase repeating, doubled, but not in "ordered pairs".
bool ends_like_no_noun(const std::string& word, bool is_last) {
  if (is_among(kNouns, word)) return false;
  if (!is_last) return word.size() > 3 && word.ends_with("ly");
  return (word.size() > 5 && word.ends_with("ing")) || (word.size() > 3 && word.ends_with("ly")) ||
         (word.size() > 4 && word.ends_with("ed") && !word.ends_with("eed"));
}

bool may_be_noun(const std::string& word, bool is_last) {
  const WordRole role = word_role(word);
  if (role != WordRole::kOther && role != WordRole::kFiller) return false;
  return !is_among(kNoNouns, word) && !starts_remark(word) && !denies_answer(word) &&
         !ends_like_no_noun(word, is_last) && !find_number_word(word) && !read_number_name(word);
}

}  // namespace

std::string singular(std::string name) {
  static const std::unordered_map<std::string, std::string> irregular = {
      {"children", "child"}, {"men", "man"},     {"women", "woman"}, {"people", "person"},
      {"mice", "mouse"},     {"geese", "goose"}, {"teeth", "tooth"}, {"dice", "die"}};
  if (const auto found = irregular.find(name); found != irregular.end()) return found->second;
  if (name.size() <= 3 || name.ends_with("ss") || name.ends_with("us") || name.ends_with("is")) return name;
  if (name.ends_with('s')) name.pop_back();
  for (const std::string_view ending : {"se", "xe", "ze", "che", "she"}) {
    if (name.ends_with(ending)) name.pop_back();  // of boxes and houses alike: box, hous
  }
  if (name.size() > 3 && name.ends_with("ie")) name.replace(name.size() - 2, 2, "y");
  return name;
}

bool may_be_counted(std::string_view words) {
  constexpr size_t kMaxNouns = 3;
  // The square of "square tiles" is no power of the number.
  for (const std::string_view shape : {"square ", "sq ", "cubic ", "cu "}) {
    if (words.starts_with(shape)) words = trim(words.substr(shape.size()));
  }
  const std::vector<std::string> parts = split(words);
  size_t num_nouns = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_article = is_among(kArticles, parts[i]) || parts[i] == "of" || (parts[i] == "to" && i > 0);
    const bool is_joiner = parts[i] == "and" && i > 0 && i + 1 < parts.size();  // red and blue balls
    // 18 more apples are 18 apples, whatever they are compared with; 18 more is no number of anything.
    const bool is_comparison = i == 0 && parts.size() > 1 && (parts[i] == "more" || parts[i] == "fewer");
    if (is_article || is_joiner || is_comparison) continue;
    const bool is_preposition = is_among(kPrepositions, parts[i]) && i + 1 < parts.size() &&
                                (parts[i] == "per" || (i > 0 && is_among(kArticles, parts[i + 1])));
    if (is_preposition) continue;
    if (!may_be_noun(parts[i], i + 1 == parts.size())) return false;
    ++num_nouns;
  }
  return num_nouns > 0 && num_nouns <= kMaxNouns;
}

bool may_be_counted_abroad(std::string_view words) {
  const std::vector<Sentence> sentences = read_sentences(words, 2);
  if (sentences.size() != 1) return false;
  return std::all_of(sentences[0].pieces.begin(), sentences[0].pieces.end(), [](const Piece& piece) {
    const WordRole role = piece.kind == Piece::Kind::kWord ? word_role(piece.text) : WordRole::kDoubt;
    return role == WordRole::kOther || role == WordRole::kFiller || role == WordRole::kCopula;
  });
}

std::string_view without_remark(std::string_view words) {
  for (bool is_found = true; is_found;) {
    is_found = false;
    for (const std::string_view remark : kRemarks) {
      const bool is_end = words.ends_with(remark) &&
                          (words.size() == remark.size() || words[words.size() - remark.size() - 1] == ' ');
      if (!is_end) continue;
      words = trim(words.substr(0, words.size() - remark.size()));
      is_found = true;
    }
  }
  return words;
}

}  // namespace cohort::answers
