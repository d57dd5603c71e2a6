// Exact values of expressions that are rational.
#pragma once

#include "cohort/rewards/math/evaluation.h"
#include "cohort/rewards/math/fraction.h"
#include "cohort/rewards/math/tree.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

struct ExactValue {
  enum class Status {
    kOk,
    kUnknown,    ///< not rational, not constant, or of more than 16384 bits
    kUndefined,  ///< a division by zero
  };
  Status status = Status::kUnknown;
  Fraction value;

  bool is_ok() const { return status == Status::kOk; }
};

/// `work`, where there is one, pays for the bits of every node; without enough of it the value is unknown.
ExactValue evaluate_exactly(const Tree& tree, NodeId id, const Reading& reading = {}, Work* work = nullptr);

}  // namespace cohort::math
