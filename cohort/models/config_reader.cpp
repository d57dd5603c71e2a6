#include "cohort/models/config_reader.h"

#include <cmath>

namespace cohort {

ConfigReader::ConfigReader(const Json& object, std::filesystem::path path, std::string prefix)
    : object_(object), path_(std::move(path)), prefix_(std::move(prefix)) {
  if (!object.is_object()) {
    throw FormatError(str(path_.string(), ": ", prefix_.empty() ? "the file" : "key \"" + prefix_ + "\"",
                          " must be a JSON object"));
  }
}

void ConfigReader::fail(const std::string& key, const std::string& what) const {
  const std::string name = (prefix_.empty() ? "" : prefix_ + ".") + key;
  throw ConfigKeyError(str(path_.string(), ": key \"", name, "\" ", what), name.substr(0, name.find('.')));
}

int64_t ConfigReader::integer(const char* key, int64_t least, int64_t most) const {
  if (!has(key)) fail(key, "is missing");
  const Json& value = object_.at(key);
  if (!value.is_number_integer()) fail(key, "must be an integer");
  const bool is_huge = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = is_huge ? INT64_MAX : value.get<int64_t>();
  if (number < least || number > most)
    fail(key, str("must be in ", least, "..", most, ", is ", value.dump()));
  return number;
}

double ConfigReader::number(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  if (!object_.at(key).is_number()) fail(key, "must be a number");
  return object_.at(key).get<double>();
}

std::vector<double> ConfigReader::numbers(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  std::vector<double> values;
  for (const Json& value : object_.at(key).is_array() ? object_.at(key) : Json::array({nullptr})) {
    if (!value.is_number()) fail(key, "must be a list of numbers");
    values.push_back(value.get<double>());
  }
  return values;
}

std::string ConfigReader::text(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  if (!object_.at(key).is_string()) fail(key, "must be a string");
  return object_.at(key).get<std::string>();
}

int64_t ConfigReader::integer_or(const char* key, int64_t fallback, int64_t least) const {
  return has(key) ? integer(key, least) : fallback;
}

double ConfigReader::number_or(const char* key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

double ConfigReader::positive_or(const char* key, double fallback) const {
  const double value = number_or(key, fallback);
  if (!(value > 0.0) || !std::isfinite(value)) fail(key, str("must be positive, is ", at(key).dump()));
  return value;
}

bool ConfigReader::flag_or(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!object_.at(key).is_boolean()) fail(key, "must be true or false");
  return object_.at(key).get<bool>();
}

ConfigReader ConfigReader::object(const char* key) const {
  return ConfigReader(object_.at(key), path_, (prefix_.empty() ? "" : prefix_ + ".") + key);
}

ConfigReader ConfigReader::empty() const {
  static const Json none = Json::object();
  return ConfigReader(none, path_, prefix_);
}

}  // namespace cohort
