#include "cohort/rewards/math/equivalence.h"

#include "cohort/core/str.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/parser.h"
#include "cohort/rewards/math/rewrite.h"
#include "cohort/rewards/math/structures.h"
#include "cohort/rewards/math/words.h"

namespace cohort::math {
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
  std::optional<Expression> expression;
  std::optional<ParseFailure> failure;
};

Answer read(std::string_view text) {
  Answer answer;
  answer.words = find_words(text);
  if (answer.words == "all real numbers" || answer.words == "all reals") {
    answer.words.reset();
    text = "\\mathbb{R}";
  }
  if (answer.words) return answer;
  const std::optional<char> choice = find_choice(text);
  ParseFailure failure;
  const std::optional<Expression> parsed = parse(choice ? std::string_view(&*choice, 1) : text, failure);
  if (!parsed) {
    answer.failure = failure;
    return answer;
  }
  try {
    answer.expression = resolve_signs(*parsed);
  } catch (const TreeLimit&) {
    answer.failure = ParseFailure{ParseFailure::Kind::kTooLarge, "too many plus-minus signs"};
  }
  return answer;
}

Verdict compare_read(const Answer& gold, const Answer& answer) {
  if (gold.words && answer.words) {
    return *gold.words == *answer.words ? equal("the same words") : unequal("different words");
  }
  if (gold.words || answer.words) return unequal("words and a value");
  Work work;
  return compare({&gold.expression->tree, gold.expression->root},
                 {&answer.expression->tree, answer.expression->root}, work);
}

void write_prefix(const Tree& tree, NodeId id, std::string& out) {
  constexpr const char* kNames[] = {
      "",       "",      "unit ",        "add",     "negate", "multiply",  "divide",
      "power",  "",      "plus-minus",   "tuple ",  "set",    "such that", "list ",
      "matrix", "union", "intersection", "without", "in",     "relation "};
  const Node& node = tree[id];
  out += kNames[static_cast<int>(node.kind)];
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
  const Answer gold_answer = read(gold), other = read(answer);
  if (!gold_answer.failure && !other.failure) {
    // In an order of their own, so that the limit of work cannot make the verdict depend on who is the gold.
    const bool is_first = gold <= answer;
    return {is_first ? compare_read(gold_answer, other) : compare_read(other, gold_answer), std::nullopt,
            std::nullopt};
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

}  // namespace cohort::math
