// Values of fields by name, for settings whose struct is not at hand where they are read: `[[reward]]` tables
// hold the keys of all types of rewards, each of which has a struct of its own.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "cohort/core/config.h"

namespace cohort {

template <typename References>
struct Referenced;
template <typename... Values>
struct Referenced<std::variant<Values*...>> {
  using Value = std::variant<Values...>;
};

/// What a field can hold.
using FieldValue = Referenced<FieldRef>::Value;

using FieldTable = std::map<std::string, FieldValue>;

/// `field` with its value in `table`, which gets that of `field` where it has none; numbers begin unset.
Field field_in(FieldTable& table, Field field);

/// Gives the fields of `settings` their values in `table`. A field without one, or with a number that is
/// unset, stays as it is. Throws InternalError for a value of another type.
void take_values(const Section& settings, const FieldTable& table);

/// Whether it is false, unset or empty.
bool is_empty(const FieldValue& value);

/// The value of one key, or an empty one.
template <typename Value>
Value value_in(const FieldTable& table, const char* name) {
  Value value{};
  take_values({"", "", {{name, &value, "", {}}}, {}, {}}, table);
  return value;
}

}  // namespace cohort
