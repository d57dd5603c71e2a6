// The errors of a user; expected outcomes (a reward that cannot parse, a completion that ran out of length)
// are values instead, and a bug is an InternalError (libs/common/check.h). Only an app's outermost function
// catches.
#pragma once

#include <stdexcept>
#include <string>

#include "libs/common/check.h"
#include "libs/common/str.h"

namespace cohort {

/// An error that the user can fix: one line that names file, line or key and what to do. Programs exit with
/// code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A setting that is unknown, out of range or contradicts another.
class ConfigError : public UserError {
 public:
  using UserError::UserError;
};

/// A file that is missing or violates its format.
class FormatError : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace cohort
