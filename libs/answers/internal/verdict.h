// Verdicts in the making, and the work that they may take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "libs/answers/comparison.h"

namespace cohort::answers {

inline Verdict equal(std::string reason) { return {Outcome::kEqual, std::move(reason)}; }
inline Verdict unequal(std::string reason) { return {Outcome::kUnequal, std::move(reason)}; }
inline Verdict undecided(std::string reason) { return {Outcome::kUndecided, std::move(reason)}; }

/// What one comparison may still spend, in nodes times bits of precision. An answer can ask for any amount of
/// work; this is all it gets.
struct Work {
  int64_t left = 3'000'000;
  uint64_t seed = 0;  ///< of what is drawn for this comparison; the same for both orders of the two texts

  bool spend(int64_t amount) {
    left -= amount;
    return left >= 0;
  }
};

}  // namespace cohort::answers
