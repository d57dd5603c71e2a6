// What comparing two answers says.
#pragma once

#include <cstdint>
#include <string>

namespace cohort::math {

enum class Outcome : uint8_t { kEqual, kUnequal, kUndecided };

struct Verdict {
  Outcome outcome = Outcome::kUndecided;
  std::string reason;

  bool is_equal() const { return outcome == Outcome::kEqual; }
  bool is_unequal() const { return outcome == Outcome::kUnequal; }
};

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

}  // namespace cohort::math
