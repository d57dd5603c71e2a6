// Builds a Json from a parser's events. Private to core.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// Receives nlohmann's events. Unlike the library's own builder it takes time n log n for an object of n keys
/// and reports repeated keys, of which it keeps the last one.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  /// `hidden` are the integers that long_integers.h hid in the text; it must outlive the builder.
  explicit JsonBuilder(const std::vector<std::string>& hidden) : hidden_(hidden) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& token) override;
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool key(string_t& key) override;
  bool end_object() override;
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override;
  bool parse_error(size_t position, const std::string&, const Json::exception& error) override;

  Json take() { return std::move(root_); }

  struct Error {
    size_t byte;  ///< from 1; 0 is unknown
    std::string text;
  };
  const std::optional<Error>& error() const { return error_; }

  /// The first repeated key of an object.
  const std::optional<std::string>& repeated_key() const { return repeated_key_; }

 private:
  Json* place(Json value);
  bool add(Json value);
  bool open(Json value);

  const std::vector<std::string>& hidden_;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  // one for each object that waits for a value
  std::optional<Error> error_;
  std::optional<std::string> repeated_key_;
};

}  // namespace cohort
