// Many pairs in one process, for tools/compare_math_verify.py: a line {"gold", "answer"} gives a line
// {"verdict", "reason", "gold", "answer"}, the last two as they were read.
#include <iostream>
#include <string>

#include "libs/answers/comparison.h"
#include "libs/common/json_value.h"

int main() {
  using namespace cohort::answers;
  for (std::string line; std::getline(std::cin, line);) {
    const cohort::Json pair = cohort::Json::parse(line);
    const std::string gold = pair.at("gold"), answer = pair.at("answer");
    const Verdict verdict = judge(gold, answer).verdict;
    const char* outcome = verdict.is_equal() ? "equal" : verdict.is_unequal() ? "unequal" : "undecided";
    std::cout << cohort::Json{{"verdict", outcome},
                              {"reason", verdict.reason},
                              {"gold", describe_answer(gold)},
                              {"answer", describe_answer(answer)}}
                     .dump()
              << "\n";
  }
  return 0;
}
