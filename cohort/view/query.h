// The parameters of a request's query: "?run=0&sort=reward".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {

/// A request that cannot be answered, with its HTTP status.
class RequestError : public UserError {
 public:
  RequestError(int status, const std::string& message) : UserError(message), status_(status) {}

  int status() const { return status_; }

 private:
  int status_;
};

class Query {
 public:
  /// Decodes "a=1&b=x%20y"; '+' is a space. Throws RequestError (400) for a broken escape and for bytes that
  /// are no UTF-8.
  explicit Query(std::string_view raw);

  /// The last value of a parameter.
  std::optional<std::string> text(std::string_view name) const;

  /// All values of a parameter, in order.
  std::vector<std::string> texts(std::string_view name) const;

  /// Throws RequestError (400) naming the parameter for a value that is no integer of low to high.
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;

  /// Throws RequestError (400) naming the parameter for a value that is no finite number.
  std::optional<double> number(std::string_view name) const;

  /// True for "1" and "true", false for "0", "false" and a missing parameter. Throws RequestError (400)
  /// otherwise.
  bool flag(std::string_view name) const;

  /// Throws RequestError (400) naming a parameter that is not in the list, and the nearest one that is.
  void check_known(std::initializer_list<const char*> names) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace cohort
