// The fields of a request's JSON body.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// Reads fields by name. A field that is null counts as missing. All functions throw ApiError naming the
/// field.
class BodyReader {
 public:
  /// `body` must be an object and outlive this.
  explicit BodyReader(const Json& body);

  /// Null if the field is missing.
  const Json* find(const std::string& name);

  const Json& required(const std::string& name);

  std::optional<double> number(const std::string& name, double least, double largest);
  std::optional<int64_t> integer(const std::string& name, int64_t least, int64_t largest);
  std::optional<std::string> text(const std::string& name);
  bool flag(const std::string& name, bool default_value = false);

  /// Fields that change nothing here.
  void ignore(std::initializer_list<const char*> names);

  /// Throws for fields that nobody has asked for.
  void check_known() const;

 private:
  const Json& body_;
  std::set<std::string> known_;
};

}  // namespace cohort
