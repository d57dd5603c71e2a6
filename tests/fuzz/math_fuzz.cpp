// Answers of mathematics: any two texts get a verdict that does not depend on their order. The input is the
// two, with a line break between.
#include <cstdint>
#include <string_view>

#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "libs/common/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort::answers;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  const std::string_view gold = input.substr(0, end);
  const std::string_view answer = end == std::string_view::npos ? "1" : input.substr(end + 1);
  for (const auto compare : {judge, judge_choice}) {
    const Judgement forth = compare(gold, answer), back = compare(answer, gold);
    COHORT_CHECK(forth.verdict.outcome == back.verdict.outcome, "A verdict depends on the order.");
  }
  COHORT_CHECK(!describe_answer(gold).empty(), "A text is described by nothing.");
  const Finding found = find_answer(input, default_places());
  COHORT_CHECK(!found.text || found.refusal.empty(), "An answer is found and refused.");
  find_gold_answer(input);
  return 0;
}
