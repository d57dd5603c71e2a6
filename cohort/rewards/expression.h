// Exact evaluation of expressions such as (25 - 8) / 3 that a model wrote, safe against whatever it writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/rational.h"

namespace cohort {

struct ExpressionValue {
  enum class Status {
    kOk,
    kMalformed,  ///< no expression over integers, + - * / and parentheses
    kDividesByZero,
    kTooDeep,   ///< more than 200 parentheses or signs within each other
    kTooLarge,  ///< an intermediate result needs more than 128 bits
  };
  Status status = Status::kOk;
  Rational value;                ///< when kOk
  std::vector<int64_t> numbers;  ///< as written, from left to right; complete unless kMalformed or kTooDeep
  std::string detail;            ///< why the status is not kOk
};

/// Evaluates the whole of `text`. A leading minus is a sign; numbers have at most 18 digits and no decimals.
ExpressionValue evaluate_expression(std::string_view text);

}  // namespace cohort
