#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/rewrite.h"
#include "libs/answers/internal/spelling.h"
#include "libs/answers/internal/structures.h"
#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/hash.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

// The text without white space.
std::string squeezed(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c))) result += c;
  }
  return result;
}

struct Answer {
  std::optional<std::string> words;
  std::string letters;  // of an answer that is three letters and more alone, in small ones
  std::optional<Expression> expression;
  std::optional<ParseFailure> failure;
};

// "i and iii" as I, III; nothing for other words.
std::optional<std::string> find_numerals(std::string_view words) {
  std::string numerals;
  while (!words.empty()) {
    const size_t end = std::min(words.find_first_of(" ,"), words.size());
    std::string part(words.substr(0, end));
    words = trim(words.substr(std::min(words.find_first_not_of(" ,", end), words.size())));
    if (part == "and" || part == "or") continue;
    std::transform(part.begin(), part.end(), part.begin(), [](unsigned char c) { return std::toupper(c); });
    if (!is_roman(part) && part != "I" && part != "V" && part != "X") return std::nullopt;
    numerals += (numerals.empty() ? "" : ", ") + part;
  }
  return numerals;
}

// A sentence that says a value: its LaTeX, or nothing.
std::optional<std::string> find_value_of_words(const std::string& words) {
  static const std::unordered_map<std::string_view, std::string_view> values = {
      {"all real numbers", "\\mathbb{R}"},
      {"all reals", "\\mathbb{R}"},
      {"all real x", "\\mathbb{R}"},
      {"no solution", "\\emptyset"},
      {"no solutions", "\\emptyset"},
      {"no real solution", "\\emptyset"},
      {"no real solutions", "\\emptyset"},
      {"empty set", "\\emptyset"},
      {"infinity", "\\infty"},
      {"zero", "0"},
      {"one", "1"},
      {"two", "2"},
      {"three", "3"},
      {"four", "4"},
      {"five", "5"},
      {"six", "6"},
      {"seven", "7"},
      {"eight", "8"},
      {"nine", "9"},
      {"ten", "10"},
      {"eleven", "11"},
      {"twelve", "12"},
      {"one hundred", "100"},
      {"one thousand", "1000"},
      {"one million", "1000000"},
      {"one half", "\\frac12"}};
  const auto found = values.find(words);
  if (found != values.end()) return std::string(found->second);
  if (const std::optional<std::string> numerals = find_numerals(words)) return numerals;
  if (words.starts_with("usd ") && words.find_first_not_of("0123456789.,", 4) == std::string::npos)
    return str("\\$", words.substr(4));
  for (std::string_view exception : {"all real numbers except ", "all reals except "}) {
    const std::string_view rest = std::string_view(words).substr(std::min(exception.size(), words.size()));
    if (words.starts_with(exception) && rest.find_first_not_of("0123456789-.") == std::string_view::npos)
      return str("\\mathbb{R}\\setminus\\{", rest, "\\}");
  }
  return std::nullopt;
}

std::string lone_letters(std::string_view text) {
  std::string letters;
  for (char c : trim(text)) {
    if (!std::isalpha(static_cast<unsigned char>(c))) return {};
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters.size() < 3 ? std::string() : letters;
}

// `others` are letters that the other answer uses as variables.
Answer read(std::string_view text, const Names& others = {}) {
  Answer answer;
  const bool is_short = text.size() <= kMaxAnswerBytes;
  answer.words = find_words(is_short ? respell(text) : std::string());
  if (answer.words == "dne") answer.words = "does not exist";
  std::optional<std::string> value;
  if (answer.words) value = find_value_of_words(*answer.words);
  if (value) {
    answer.words.reset();
    text = *value;
  }
  if (answer.words) return answer;
  answer.letters = lone_letters(text);
  const std::optional<char> choice = find_choice(text);
  ParseFailure failure;
  const std::optional<Expression> parsed =
      parse(choice ? std::string_view(&*choice, 1) : text, failure, others);
  if (!parsed) {
    answer.failure = failure;
    return answer;
  }
  try {
    answer.expression = resolve_signs(*parsed);
  } catch (const TreeLimit&) {
    answer.failure = ParseFailure{ParseFailure::Kind::kTooLarge, "too many plus-minus signs"};
  } catch (const ParseFailure& thrown) {
    answer.failure = thrown;
  }
  return answer;
}

// "cat" and "act": products of letters have no vowel among consonants from afar.
bool are_different_words(const std::string& a, const std::string& b) {
  constexpr char kMaxSpan = 4;
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  return !a.empty() && a != b && std::is_permutation(a.begin(), a.end(), b.begin(), b.end()) &&
         a.find_first_of("aeiou") != std::string::npos && *high - *low > kMaxSpan;
}

Verdict compare_read(const Answer& gold, const Answer& answer, uint64_t seed) {
  if (gold.words && answer.words) {
    return *gold.words == *answer.words ? equal("the same words") : unequal("different words");
  }
  if (gold.words || answer.words) return unequal("words and a value");
  if (are_different_words(gold.letters, answer.letters)) return unequal("different words");
  // A short word in a text font against plain letters, which alone are a product.
  for (const auto& [word, plain] : {std::pair{&gold, &answer}, std::pair{&answer, &gold}}) {
    const Node& node = word->expression->tree[word->expression->root];
    if (plain->letters.empty() || node.kind != Kind::kSymbol || node.text.size() < 3) continue;
    if (plain->letters == node.text) return equal("the same word");
  }
  Work work;
  work.seed = seed;
  return compare({&gold.expression->tree, gold.expression->root},
                 {&answer.expression->tree, answer.expression->root}, work);
}

void write_prefix(const Tree& tree, NodeId id, std::string& out) {
  constexpr const char* kNames[] = {
      "",       "",      "unit ",        "add",     "negate", "multiply",  "divide",
      "power",  "",      "plus-minus",   "tuple ",  "set",    "such that", "list ",
      "matrix", "union", "intersection", "without", "in",     "relation ", "ratio "};
  const Node& node = tree[id];
  out += kNames[static_cast<int>(node.kind)];
  if ((node.kind == Kind::kDivide || node.kind == Kind::kSetBuilder) && !node.text.empty()) out += " ";
  out += node.text;
  if (node.children.empty()) return;
  for (size_t i = 0; i < node.children.size(); ++i) {
    out += i == 0 ? "(" : ", ";
    write_prefix(tree, node.children[i], out);
  }
  out += ")";
}

}  // namespace

Judgement judge(std::string_view gold, std::string_view answer) {
  if (gold.size() <= kMaxAnswerBytes && trim(gold) == trim(answer) && !trim(gold).empty()) {
    return {equal("the same text"), std::nullopt, std::nullopt};
  }
  // What one of the two uses as a variable is none of a function or a unit in the other.
  const Answer gold_answer = read(gold, variables_of(answer)), other = read(answer, variables_of(gold));
  if (!gold_answer.failure && !other.failure) {
    // In an order of their own, so that the limit of work cannot make the verdict depend on who is the gold.
    const bool is_first = gold <= answer;
    const uint64_t seed = fnv1a(gold) + fnv1a(answer);
    return {is_first ? compare_read(gold_answer, other, seed) : compare_read(other, gold_answer, seed),
            std::nullopt, std::nullopt};
  }
  // Integrals and the like: what nobody here can read may still be written alike.
  const bool is_alike = gold_answer.failure && other.failure && gold.size() <= kMaxAnswerBytes &&
                        squeezed(gold) == squeezed(answer) && !squeezed(gold).empty();
  if (is_alike) return {equal("the same text"), std::nullopt, std::nullopt};
  return {undecided("an answer that cannot be read"), gold_answer.failure, other.failure};
}

std::string describe_answer(std::string_view text) {
  const Answer answer = read(text);
  if (answer.words) return str("words ", excerpt(*answer.words));
  if (answer.failure) return str("not read: ", answer.failure->reason);
  std::string out;
  write_prefix(answer.expression->tree, answer.expression->root, out);
  return out;
}

}  // namespace cohort::answers
