#include "cohort/core/json.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/core/input_file.h"
#include "cohort/core/json_builder.h"
#include "cohort/core/json_depth.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

constexpr int kMaxDepth = 256;

/// The library's message without its prefix and position, which are stated in our own words, and without the
/// text that it quotes, which may be long and anything.
std::string reason_of(const std::string& message) {
  constexpr size_t kMaxLength = 160;
  const size_t colon = message.find(": ");
  std::string reason = colon == std::string::npos ? message : message.substr(colon + 2);
  if (const size_t quote = reason.find("; last read: "); quote != std::string::npos) {
    const size_t expected = reason.rfind("; expected ");
    reason = reason.substr(0, quote) +
             (expected != std::string::npos && expected > quote ? reason.substr(expected) : "");
  }
  return reason.substr(0, kMaxLength);
}

/// The number of continuation bytes that a first byte asks for; -1 where it is none.
int num_continuations(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

/// The lowest and highest second byte: the others spell overlong forms, surrogates or more than U+10FFFF.
bool is_second_byte(unsigned char first, unsigned char second) {
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

/// The offset of the first byte that is not part of well-formed UTF-8, or npos.
size_t invalid_utf8_at(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int count = num_continuations(first);
    if (count < 0 || text.size() - i <= static_cast<size_t>(count)) return i;
    if (count > 0 && !is_second_byte(first, text[i + 1])) return i;
    for (int next = 2; next <= count; ++next) {
      if ((static_cast<unsigned char>(text[i + next]) & 0xC0) != 0x80) return i;
    }
    i += count + 1;
  }
  return std::string::npos;
}

enum class RepeatedKeys { kLastWins, kRefused };
enum class LongIntegers { kRounded, kKept };

/// `first_line` is the number of the text's first line; offsets count from 1 in the text.
Json parse_text(const std::string& text, const std::filesystem::path& path, int64_t first_line,
                RepeatedKeys repeated_keys, LongIntegers long_integers) {
  const auto where = [&](size_t offset) {
    const auto end = text.begin() + static_cast<int64_t>(std::min(offset, text.size()));
    return str(path.string(), ":", first_line + std::count(text.begin(), end, '\n'), ": ");
  };
  if (const size_t offset = invalid_utf8_at(text); offset != std::string::npos) {
    throw FormatError(str(where(offset), "not UTF-8 at byte ", offset + 1));
  }
  if (const size_t offset = json_too_deep_at(text, kMaxDepth); offset != std::string::npos) {
    throw FormatError(
        str(where(offset), "JSON nested deeper than ", kMaxDepth, " levels at byte ", offset + 1));
  }
  const bool keeps = long_integers == LongIntegers::kKept;
  const HiddenIntegers hidden = keeps ? hide_long_integers(text) : HiddenIntegers{};
  JsonBuilder builder(hidden.integers);
  Json::sax_parse(hidden.integers.empty() ? text : hidden.text, &builder);
  if (const auto& error = builder.error()) {
    const size_t offset = error->byte == 0 ? 0 : error->byte - 1;
    throw FormatError(
        str(where(offset), "malformed JSON at byte ", error->byte, ": ", reason_of(error->text)));
  }
  if (const auto& key = builder.repeated_key(); key && repeated_keys == RepeatedKeys::kRefused) {
    throw FormatError(str(where(0), "the key ", to_json_text(*key), " comes twice"));
  }
  return builder.take();
}

void check_finite(const Json& value) {
  if (value.is_number_float())
    COHORT_CHECK(std::isfinite(value.get<double>()), "JSON has no NaN and no infinity.");
  if (value.is_structured()) {
    for (const Json& child : value) check_finite(child);
  }
}

bool has_long_integer(const Json& value) {
  return value.is_structured() ? std::any_of(value.begin(), value.end(), has_long_integer)
                               : is_long_integer(value);
}

std::string plain_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// As nlohmann writes values, which has no long integers.
void write_text(const Json& value, int indent, int level, std::string& text) {
  if (is_long_integer(value)) {
    text += long_integer_digits(value);
    return;
  }
  if (!value.is_structured() || value.empty()) {
    text += plain_text(value, indent);
    return;
  }
  const auto break_line = [&](int depth) {
    if (indent >= 0) text += "\n" + std::string(static_cast<size_t>(indent * depth), ' ');
  };
  text += value.is_object() ? '{' : '[';
  bool is_first = true;
  for (const auto& [key, child] : value.items()) {
    if (!is_first) text += ',';
    is_first = false;
    break_line(level + 1);
    if (value.is_object()) text += plain_text(key, -1) + (indent >= 0 ? ": " : ":");
    write_text(child, indent, level + 1, text);
  }
  break_line(level);
  text += value.is_object() ? '}' : ']';
}

std::string exact_text(const Json& value, int indent) {
  if (!has_long_integer(value)) return plain_text(value, indent);
  std::string text;
  write_text(value, indent, 0, text);
  return text;
}

}  // namespace

std::string to_json_text(const Json& value, int indent) {
  check_finite(value);
  return exact_text(value, indent);
}

std::string string_or_json(const Json& value) {
  return value.is_string() ? value.get<std::string>() : to_json_text(value);
}

std::string to_lenient_json_text(const Json& value) { return exact_text(value, -1); }

Json parse_exact_json(const std::string& text, std::string* fault) {
  std::string ignored;
  std::string& reason = fault != nullptr ? *fault : ignored;
  if (const size_t offset = json_too_deep_at(text, kMaxDepth); offset != std::string::npos) {
    reason = str("nested deeper than ", kMaxDepth, " levels at byte ", offset + 1);
    return Json(Json::value_t::discarded);
  }
  HiddenIntegers hidden = hide_long_integers(text);
  JsonBuilder builder(hidden.integers);
  if (Json::sax_parse(hidden.integers.empty() ? text : hidden.text, &builder)) return builder.take();
  if (const auto& error = builder.error())
    reason = str("malformed at byte ", error->byte, ": ", reason_of(error->text));
  return Json(Json::value_t::discarded);
}

Json read_json(const std::filesystem::path& path) {
  return parse_text(read_whole_file(path), path, 1, RepeatedKeys::kLastWins, LongIntegers::kRounded);
}

void write_json(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, to_json_text(value, 2) + "\n");
}

Json parse_json_line(const std::string& line, const std::filesystem::path& path, int64_t line_number) {
  return parse_text(line, path, line_number, RepeatedKeys::kRefused, LongIntegers::kKept);
}

}  // namespace cohort
