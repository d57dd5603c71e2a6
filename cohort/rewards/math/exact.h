// Exact values of expressions that are rational.
#pragma once

#include "cohort/rewards/math/evaluation.h"
#include "cohort/rewards/math/fraction.h"
#include "cohort/rewards/math/tree.h"

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

ExactValue evaluate_exactly(const Tree& tree, NodeId id, const Reading& reading = {});

}  // namespace cohort::math
