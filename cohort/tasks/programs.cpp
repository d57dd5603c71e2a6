// Programs: what a function of a and b gives is shown by examples, and the completion defines it in a line of
// Python. The column `tests` holds calls that the prompt does not show.
#include <algorithm>
#include <utility>

#include "cohort/tasks/generators.h"

namespace cohort {
namespace {

constexpr size_t kNumExamples = 3, kNumTests = 2;
constexpr int kMaxTries = 1000;

using Inputs = std::vector<std::pair<int64_t, int64_t>>;

/// An expression with its value at each of the inputs.
struct Term {
  std::string text;
  bool is_compound = false;
  std::vector<int64_t> values;
};

int64_t apply(char op, int64_t left, int64_t right) {
  return op == '+' ? left + right : op == '-' ? left - right : left * right;
}

std::string as_operand(const Term& term) { return term.is_compound ? str("(", term.text, ")") : term.text; }

Term combine(char op, const Term& left, const Term& right) {
  Term term{str(as_operand(left), " ", op, " ", as_operand(right)), true, {}};
  for (size_t i = 0; i < left.values.size(); ++i)
    term.values.push_back(apply(op, left.values[i], right.values[i]));
  return term;
}

/// All terms joined two by two in a random way.
Term join(std::vector<Term> terms, CounterRng& rng) {
  while (terms.size() > 1) {
    const size_t left = rng.below(terms.size());
    const size_t right = (left + 1 + rng.below(terms.size() - 1)) % terms.size();
    terms[left] = combine("+-*"[rng.below(3)], terms[left], terms[right]);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(right));
  }
  return terms[0];
}

bool passes_tests(const Term& term, const Term& right) {
  return std::equal(term.values.begin() + kNumExamples, term.values.end(),
                    right.values.begin() + kNumExamples);
}

/// A function of the same terms that fails a test, or, where none is found, the right one.
Term draw_miss(const std::vector<Term>& terms, const Term& right, CounterRng& rng) {
  for (int i = 0; i < kMaxTries; ++i) {
    Term attempt = join(terms, rng);
    if (!passes_tests(attempt, right)) return attempt;
  }
  return right;
}

/// Pairs from 1 to `max_value`, each once.
Inputs draw_inputs(int64_t max_value, CounterRng& rng) {
  const auto draw = [&] { return static_cast<int64_t>(1 + rng.below(static_cast<uint64_t>(max_value))); };
  Inputs inputs;
  while (inputs.size() < kNumExamples + kNumTests) {
    const int64_t a = draw(), b = draw();
    if (std::find(inputs.begin(), inputs.end(), std::pair(a, b)) == inputs.end()) inputs.emplace_back(a, b);
  }
  return inputs;
}

/// a, b and as many constants as there are numbers left, in ascending order.
std::vector<Term> draw_terms(const TaskConfig& config, const Inputs& inputs, CounterRng& rng) {
  std::vector<Term> terms = {{"a", false, {}}, {"b", false, {}}};
  for (const auto& [a, b] : inputs) {
    terms[0].values.push_back(a);
    terms[1].values.push_back(b);
  }
  std::vector<int64_t> constants;
  for (int64_t i = 2; i < config.num_operands; ++i)
    constants.push_back(static_cast<int64_t>(1 + rng.below(static_cast<uint64_t>(config.max_value))));
  std::sort(constants.begin(), constants.end());
  for (const int64_t constant : constants)
    terms.push_back({str(constant), false, std::vector<int64_t>(inputs.size(), constant)});
  return terms;
}

std::string prompt_of(const std::vector<Term>& terms, const Inputs& inputs, const Term& function) {
  std::string prompt;
  for (size_t i = 0; i < kNumExamples; ++i)
    prompt += str("f(", inputs[i].first, ", ", inputs[i].second, ") = ", function.values[i], "\n");
  prompt += "Write f with ";
  for (size_t i = 0; i < terms.size(); ++i)
    prompt += str(i == 0 ? "" : i + 1 < terms.size() ? ", " : " and ", terms[i].text);
  return prompt + ", each once, and + - *, as a block of Python.\n";
}

}  // namespace

Json draw_programs(const TaskConfig& config, CounterRng& rng) {
  const Inputs inputs = draw_inputs(config.max_value, rng);
  const std::vector<Term> terms = draw_terms(config, inputs, rng);
  const Term function = join(terms, rng);
  CounterRng solution_rng(rng.next_u64());
  const bool is_right = solution_rng.next_unit() < config.solution_success;
  const Term solution = is_right ? function : draw_miss(terms, function, solution_rng);
  Json tests = Json::array();
  for (size_t i = kNumExamples; i < inputs.size(); ++i) {
    tests.push_back(
        {{"call", "f"}, {"args", {inputs[i].first, inputs[i].second}}, {"expected", function.values[i]}});
  }
  return {{"prompt", prompt_of(terms, inputs, function)},
          {"tests", tests},
          {"solution", str("```python\ndef f(a, b): return ", solution.text, "\n```")}};
}

}  // namespace cohort
