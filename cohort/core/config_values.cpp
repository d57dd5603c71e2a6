#include "cohort/core/config_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <type_traits>

#include "cohort/core/error.h"

namespace cohort {
namespace {

void append_fields(const Section& section, const std::string& prefix, bool is_in_list,
                   std::vector<KeyedField>& out) {
  for (const Field& field : section.fields) out.push_back({prefix + field.name, field, is_in_list});
  for (const Section& child : section.sections)
    append_fields(child, prefix + child.name + ".", is_in_list, out);
  for (const SectionList& list : section.lists) {
    const std::vector<Section> items = list.items();
    for (size_t i = 0; i < items.size(); ++i) {
      append_fields(items[i], str(prefix, list.name, ".", i, "."), true, out);
    }
  }
}

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(const std::string& value) { return in_quotes(value); }
std::string text_of(double value) {
  const std::string text = number_text(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}
template <typename Value>
std::string text_of(const std::vector<Value>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + text_of(values[i]);
  return out + "]";
}
std::string text_of(const ScalarTable::mapped_type& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}
template <typename Value>
std::string text_of(const std::map<std::string, Value>& values) {
  std::string out;
  for (const auto& [key, value] : values)
    out += (out.empty() ? "{" : ", ") + in_quotes(key) + " = " + text_of(value);
  return out.empty() ? "{}" : out + "}";
}
template <typename Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? text_of(*value) : "";
}

// Each `convert` returns whether the source's type serves for the field's; out-of-range values are another
// matter.
template <typename Value>
bool convert(const SettingValue& source, Value& out) {
  const Value* value = std::get_if<Value>(&source);
  if (value != nullptr) out = *value;
  return value != nullptr;
}
bool convert(const SettingValue& source, double& out) {
  if (const int64_t* integer = std::get_if<int64_t>(&source)) {
    out = static_cast<double>(*integer);
    return true;
  }
  const double* number = std::get_if<double>(&source);
  if (number != nullptr) out = *number;
  return number != nullptr;
}
/// A list, or one value for a list of one; the empty list has no type.
template <typename Value>
bool convert(const SettingValue& source, std::vector<Value>& out) {
  if (const auto* value = std::get_if<Value>(&source)) {
    out = {*value};
    return true;
  }
  const auto* strings = std::get_if<std::vector<std::string>>(&source);
  if (strings != nullptr && strings->empty()) {
    out.clear();
    return true;
  }
  const auto* values = std::get_if<std::vector<Value>>(&source);
  if (values != nullptr) out = *values;
  return values != nullptr;
}
/// A table of numbers; the empty table is one, too.
bool convert(const SettingValue& source, std::map<std::string, double>& out) {
  const auto* strings = std::get_if<std::map<std::string, std::string>>(&source);
  const auto* numbers = std::get_if<std::map<std::string, double>>(&source);
  if (numbers != nullptr) out = *numbers;
  if (strings != nullptr && strings->empty()) out.clear();
  return numbers != nullptr || (strings != nullptr && strings->empty());
}
bool convert(const SettingValue& source, std::map<std::string, int64_t>& out) {
  std::map<std::string, double> numbers;
  if (!convert(source, numbers)) return false;
  out.clear();
  for (const auto& [key, number] : numbers) {
    if (number != std::floor(number) || std::abs(number) > 1e15) return false;
    out[key] = static_cast<int64_t>(number);
  }
  return true;
}
template <typename Value>
bool convert(const SettingValue& source, std::optional<Value>& out) {
  return convert(source, out.emplace());
}

bool is_within(const Limits&, bool) { return true; }
bool is_within(const Limits& limits, int64_t value) { return limits.contains(static_cast<double>(value)); }
bool is_within(const Limits& limits, double value) { return limits.contains(value); }
bool is_within(const Limits& limits, const std::string& value) { return limits.contains(value); }
template <typename Value>
bool is_within(const Limits& limits, const std::vector<Value>& values) {
  for (const Value& value : values) {
    if (!is_within(limits, value)) return false;
  }
  return true;
}
bool is_within(const Limits& limits, const ScalarTable::mapped_type& value) {
  return std::visit([&](const auto& held) { return is_within(limits, held); }, value);
}
template <typename Value>
bool is_within(const Limits& limits, const std::map<std::string, Value>& values) {
  for (const auto& [key, value] : values) {
    if (!is_within(limits, value)) return false;
  }
  return true;
}
template <typename Value>
bool is_within(const Limits& limits, const std::optional<Value>& value) {
  return is_within(limits, *value);
}

}  // namespace

std::vector<KeyedField> all_fields(const Section& settings) {
  std::vector<KeyedField> fields;
  append_fields(settings, "", false, fields);
  return fields;
}

std::string with_underscores(std::string name, char separator) {
  std::replace(name.begin(), name.end(), separator, '_');
  return name;
}

const char* type_name(const Field& field) {
  constexpr const char* kNames[] = {"bool",
                                    "integer",
                                    "number",
                                    "string",
                                    "integer",
                                    "number",
                                    "list of strings",
                                    "list of integers",
                                    "table of strings",
                                    "table of integers",
                                    "table of numbers",
                                    "table of values"};
  static_assert(std::size(kNames) == std::variant_size_v<FieldRef>);
  return kNames[field.value.index()];
}

std::string with_article(const Field& field) {
  const std::string type = type_name(field);
  return (type == "integer" ? "an " : "a ") + type;
}

std::string number_text(double number) {
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof buffer, number);
  return {buffer, end.ptr};
}

std::string value_text(const Field& field) {
  return std::visit([](const auto* value) { return text_of(*value); }, field.value);
}

void assign(const KeyedField& target, const SettingValue& value, const std::string& where) {
  const auto assign_typed = [&](auto* destination) {
    std::remove_pointer_t<decltype(destination)> converted{};
    if (convert(value, converted) && is_within(target.field.limits, converted)) {
      *destination = std::move(converted);
      return;
    }
    const std::string given = std::visit([](const auto& v) { return text_of(v); }, value);
    const std::string limits = target.field.limits.describe();
    throw ConfigError(str(where, target.key, " is ", given, ", but must be ", with_article(target.field),
                          limits.empty() ? "" : ": ", limits));
  };
  std::visit(assign_typed, target.field.value);
}

}  // namespace cohort
