// The three kinds of failure that are thrown; expected outcomes (a reward that cannot parse, a completion
// that ran out of length) are values instead. Only an app's outermost function catches.
#pragma once

#include <stdexcept>
#include <string>

#include "cohort/core/str.h"

namespace cohort {

/// What the user can mend: one line that names file, line or key and what to do. Programs exit with code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A setting that is unknown, out of range or contradicts another.
class ConfigError : public UserError {
 public:
  using UserError::UserError;
};

/// A file that is missing or not what its format demands.
class FormatError : public UserError {
 public:
  using UserError::UserError;
};

/// A bug of this program.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
template <typename... Args>
[[noreturn]] void throw_internal(const char* file, int line, const char* condition, const Args&... args) {
  throw InternalError(str(file, ":", line, ": ", condition, " does not hold. ", args...));
}
}  // namespace detail

}  // namespace cohort

/// Throws InternalError, in every build, when `condition` is false; further arguments explain.
#define COHORT_CHECK(condition, ...)                                                               \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::cohort::detail::throw_internal(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
