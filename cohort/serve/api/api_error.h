// A request that a server refuses.
#pragma once

#include <string>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {

class ApiError : public UserError {
 public:
  /// `param` is the field at fault, empty if there is none.
  explicit ApiError(const std::string& message, std::string param = {}, int status = 400)
      : UserError(message), param_(std::move(param)), status_(status) {}

  const std::string& param() const { return param_; }
  int status() const { return status_; }

 private:
  std::string param_;
  int status_;
};

}  // namespace cohort
