// The error of a file or directory that the system does not give.
#pragma once

#include <string>

#include "cohort/core/error.h"

namespace cohort {

/// A path that is missing or closed to the user.
class FileError : public FormatError {
 public:
  /// `number`: of errno.
  FileError(int number, const std::string& text) : FormatError(text), number_(number) {}

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace cohort
