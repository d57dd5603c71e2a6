// Reads keys of one JSON object of a model directory; every error names file and key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/json.h"

namespace cohort {

/// A key of a model's JSON file that is missing, malformed or asks for something unsupported.
class ConfigKeyError : public FormatError {
 public:
  ConfigKeyError(const std::string& message, std::string outermost_key)
      : FormatError(message), outermost_key_(std::move(outermost_key)) {}

  /// The key of the file's own object that the refused one is, or lies in.
  const std::string& outermost_key() const { return outermost_key_; }

 private:
  std::string outermost_key_;
};

class ConfigReader {
 public:
  /// `prefix` stands before key names in messages. Throws FormatError when `object` is no JSON object.
  ConfigReader(const Json& object, std::filesystem::path path, std::string prefix = "");

  /// Whether the key is there and not null.
  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }
  const Json& at(const char* key) const { return object_.at(key); }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

  /// Throw ConfigKeyError when the key is missing, of another type or out of range.
  int64_t integer(const char* key, int64_t least, int64_t most = int64_t{1} << 31) const;
  double number(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::string text(const char* key) const;

  /// The same with a value for an absent or null key.
  int64_t integer_or(const char* key, int64_t fallback, int64_t least) const;
  double number_or(const char* key, double fallback) const;
  double positive_or(const char* key, double fallback) const;
  bool flag_or(const char* key, bool fallback) const;

  /// The object under `key`.
  ConfigReader object(const char* key) const;

  /// An object without keys, in its place.
  ConfigReader empty() const;

 private:
  const Json& object_;
  std::filesystem::path path_;
  std::string prefix_;
};

}  // namespace cohort
