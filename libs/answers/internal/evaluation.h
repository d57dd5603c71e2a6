// What the three evaluators of an expression share: exact.h, modular.h, ball.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "libs/answers/internal/fraction.h"

namespace cohort::answers {

/// Variables by name.
using Values = std::map<std::string, Fraction>;

/// How an expression is read where its text leaves a choice.
struct Reading {
  bool converts_units = false;     ///< a unit is its factor to the base units, else 1
  bool has_degrees = false;        ///< a degree outside of functions is pi / 180, else 1
  bool has_common_log = false;     ///< log without a base is to the base 10, else natural
  const Values* values = nullptr;  ///< of variables that do not lie at a random point
};

/// Where the variables lie: a number of a point, which stands for values drawn with a fixed seed.
using Point = uint64_t;

/// From here to kEndOfPoints, points have many sizes and both signs; those from kFirstIntegerPoint on are
/// integers.
constexpr Point kFirstWidePoint = 16;
constexpr Point kFirstIntegerPoint = 48;
constexpr Point kEndOfPoints = 72;

}  // namespace cohort::answers
