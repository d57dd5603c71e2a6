// For tests of the mathematics verifier: the verdict on a pair of answers in both orders.
#pragma once

#include <string>

#include "libs/answers/comparison.h"

namespace cohort::answers {

/// "equal", "unequal" or "undecided"; both where the order of the two makes a difference.
inline std::string outcome_both_ways(const std::string& a, const std::string& b) {
  constexpr const char* kNames[] = {"equal", "unequal", "undecided"};
  const std::string forth = kNames[static_cast<int>(judge(a, b).verdict.outcome)];
  const std::string back = kNames[static_cast<int>(judge(b, a).verdict.outcome)];
  return forth == back ? forth : forth + " and " + back;
}

}  // namespace cohort::answers
