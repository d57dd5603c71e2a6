// The values of settings, without their sources: types, text and checked assignment. Private to
// core.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// A value of a source; an integer is also taken as a number, and a single value as a list of one.
using SettingValue =
    std::variant<bool, int64_t, double, std::string, std::vector<std::string>, std::vector<int64_t>,
                 std::map<std::string, std::string>, std::map<std::string, double>, ScalarTable>;

/// A field with its dotted key; fields of lists have an index in the key, such as `reward.0.weight`.
struct KeyedField {
  std::string key;
  Field field;
  bool is_in_list = false;
};

/// All fields in the order of declaration. The keys of a list are those of its current items.
std::vector<KeyedField> all_fields(const Section& settings);

/// "bool", "integer", "number", "string", "list of strings", "list of integers", "table of strings",
/// "table of integers", "table of numbers" or "table of values".
const char* type_name(const Field& field);

/// "a number", "an integer".
std::string with_article(const Field& field);

/// `name` with every `separator` replaced by `_`.
std::string with_underscores(std::string name, char separator);

/// The shortest decimal that reads back as the same double, such as "1e-06" or "0.2".
std::string number_text(double number);

/// The current value in TOML's notation; empty for an optional that is unset.
std::string value_text(const Field& field);

/// Throws ConfigError, beginning with `where`, for another type or a value outside the limits.
void assign(const KeyedField& target, const SettingValue& value, const std::string& where);

/// The keys of all settings as in the documentation: one item per list.
std::vector<std::string> documented_keys(const Section& settings);

/// Throws ConfigError for the unknown key `key`. If another tool uses this name, the message gives Cohort's
/// key for it; otherwise it gives the nearest key, or says that there is none.
[[noreturn]] void throw_unknown_key(const Section& settings, const std::string& key,
                                    const std::string& where);

/// The same for `name`, a table below `parent`: `is_list` for `[[name]]`.
[[noreturn]] void throw_unknown_section(const Section& parent, const std::string& prefix,
                                        const std::string& name, bool is_list, const std::string& where);

}  // namespace cohort
