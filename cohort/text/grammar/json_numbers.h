// Numbers of JSON within bounds, as paths of a grammar.
#pragma once

#include <cstdint>
#include <optional>

#include "cohort/text/grammar/grammar.h"

namespace cohort {

/// A bound that a number may reach, or not.
struct NumberBound {
  int64_t value;
  bool is_exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> least{};
  std::optional<NumberBound> most{};
  bool is_integer = false;
};

/// Integers have 16 digits at most, other numbers as many before and after the point, and an exponent of 3
/// digits if they have no bound. Throws UserError for an empty range and for bounds beyond 10^15.
void add_number(Grammar& grammar, Grammar::State from, const NumberRange& range, Grammar::State to);

}  // namespace cohort
