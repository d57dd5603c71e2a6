#include "cohort/text/component.h"

#include "cohort/core/error.h"
#include "cohort/core/json_depth.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

[[noreturn]] void throw_field(const std::string& where, const std::string& key, const char* expected) {
  throw FormatError(str(where, ": ", quoted_name(key), " must be ", expected));
}

constexpr int kMaxDepth = 64;

}  // namespace

std::string quoted_name(const std::string& name) {
  constexpr size_t kMaxBytes = 64;
  const std::string shown = name.size() > kMaxBytes ? name.substr(0, kMaxBytes) + "..." : name;
  return TokenizerJson(shown).dump(-1, ' ', false, TokenizerJson::error_handler_t::replace);
}

TokenizerJson parse_tokenizer_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) throw FormatError("begins with a byte order mark; remove it");
  if (const size_t offset = json_too_deep_at(text, kMaxDepth); offset != std::string_view::npos) {
    throw FormatError(str("nested deeper than ", kMaxDepth, " levels at byte ", offset + 1));
  }
  try {
    return TokenizerJson::parse(text);
  } catch (const TokenizerJson::parse_error& error) {
    throw FormatError(str("malformed JSON at byte ", error.byte));
  } catch (const TokenizerJson::exception& error) {
    throw FormatError(str("unusable JSON: ", error.what()));
  }
}

const TokenizerJson& field(const TokenizerJson& component, const std::string& key, const std::string& where) {
  static const TokenizerJson null;
  if (!component.is_object()) throw FormatError(str(where, " must be a JSON object"));
  const auto it = component.find(key);
  return it == component.end() ? null : *it;
}

std::string string_field(const TokenizerJson& component, const std::string& key, const std::string& where) {
  const TokenizerJson& value = field(component, key, where);
  if (!value.is_string()) throw_field(where, key, "a string");
  return value.get<std::string>();
}

bool bool_field(const TokenizerJson& component, const std::string& key, const std::string& where) {
  const TokenizerJson& value = field(component, key, where);
  if (!value.is_boolean()) throw_field(where, key, "true or false");
  return value.get<bool>();
}

std::string character_field(const TokenizerJson& component, const std::string& key,
                            const std::string& where) {
  const std::string text = string_field(component, key, where);
  size_t pos = 0;
  if (!text.empty()) next_code_point(text, pos);
  if (text.empty() || pos != text.size()) throw_field(where, key, "a single character");
  return text;
}

int64_t count_field(const TokenizerJson& component, const std::string& key, const std::string& where) {
  constexpr int64_t kMaxCount = 1 << 30;
  const TokenizerJson& value = field(component, key, where);
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMaxCount) {
    throw_field(where, key, "a number from 0 to 1073741824");
  }
  return value.get<int64_t>();
}

bool bool_field_or(const TokenizerJson& component, const std::string& key, const std::string& where,
                   bool fallback) {
  return field(component, key, where).is_null() ? fallback : bool_field(component, key, where);
}

int32_t id_field(const TokenizerJson& component, const std::string& key, const std::string& where) {
  constexpr int64_t kMaxId = (1 << 24) - 1;
  const TokenizerJson& value = field(component, key, where);
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMaxId) {
    throw_field(where, key, "a token id from 0 to 16777215");
  }
  return value.get<int32_t>();
}

std::vector<TokenizerJson> flatten_sequence(const TokenizerJson& component, const std::string& list_key,
                                            const std::string& where) {
  if (component.is_null()) return {};
  if (string_field(component, "type", where) != "Sequence") return {component};
  const TokenizerJson& members = field(component, list_key, where);
  if (!members.is_array()) throw_field(where, list_key, "an array");
  std::vector<TokenizerJson> steps;
  for (const TokenizerJson& member : members) {
    for (TokenizerJson& step : flatten_sequence(member, list_key, where)) steps.push_back(std::move(step));
  }
  return steps;
}

void throw_unsupported(const std::string& where, const std::string& type, const std::string& known) {
  throw FormatError(str(where, ": type ", quoted_name(type), " is not supported; supported: ", known));
}

}  // namespace cohort
