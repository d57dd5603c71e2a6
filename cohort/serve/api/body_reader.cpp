#include "cohort/serve/api/body_reader.h"

#include <vector>

#include "cohort/serve/api/api_error.h"
#include "libs/common/nearest.h"

namespace cohort {

BodyReader::BodyReader(const Json& body) : body_(body) {
  if (!body.is_object()) throw ApiError("the body must be a JSON object");
}

const Json* BodyReader::find(const std::string& name) {
  known_.insert(name);
  const auto found = body_.find(name);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

const Json& BodyReader::required(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) throw ApiError(str("the field \"", name, "\" is missing"), name);
  return *value;
}

std::optional<double> BodyReader::number(const std::string& name, double least, double largest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : 0.0;
  if (!value->is_number() || !(number >= least && number <= largest))
    throw ApiError(str("\"", name, "\" must be a number from ", least, " to ", largest), name);
  return number;
}

std::optional<int64_t> BodyReader::integer(const std::string& name, int64_t least, int64_t largest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  // An unsigned number above the largest int64_t reads as a negative one.
  const bool is_small = value->is_number_integer() &&
                        (!value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX});
  const int64_t number = is_small ? value->get<int64_t>() : 0;
  if (!is_small || number < least || number > largest)
    throw ApiError(str("\"", name, "\" must be an integer from ", least, " to ", largest), name);
  return number;
}

std::optional<std::string> BodyReader::text(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw ApiError(str("\"", name, "\" must be a string"), name);
  return value->get<std::string>();
}

bool BodyReader::flag(const std::string& name, bool default_value) {
  const Json* value = find(name);
  if (value == nullptr) return default_value;
  if (!value->is_boolean()) throw ApiError(str("\"", name, "\" must be true or false"), name);
  return value->get<bool>();
}

void BodyReader::ignore(std::initializer_list<const char*> names) {
  known_.insert(names.begin(), names.end());
}

void BodyReader::check_known() const {
  for (const auto& [name, value] : body_.items()) {
    if (known_.contains(name) || value.is_null()) continue;
    const std::string nearest = nearest_name(name, {known_.begin(), known_.end()});
    throw ApiError(str("unknown field \"", name, "\"; did you mean \"", nearest, "\"?"), name);
  }
}

}  // namespace cohort
