// Exact values of expressions that are rational.
#pragma once

#include "libs/answers/internal/evaluation.h"
#include "libs/answers/internal/fraction.h"
#include "libs/answers/internal/tree.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

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

}  // namespace cohort::answers
