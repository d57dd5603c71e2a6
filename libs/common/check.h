// COHORT_CHECK: what must hold unless this code is wrong.
#pragma once

#include <stdexcept>

#include "libs/common/str.h"

namespace cohort {

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
