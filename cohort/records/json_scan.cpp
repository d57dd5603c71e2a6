#include "cohort/records/json_scan.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "cohort/core/json.h"

namespace cohort {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The offset of the quote that ends a string whose first byte is at `begin`, or npos.
size_t closing_quote(std::string_view text, size_t begin) {
  for (size_t from = begin; from < text.size();) {
    const void* found = std::memchr(text.data() + from, '"', text.size() - from);
    if (found == nullptr) return std::string_view::npos;
    const auto quote = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    size_t first = quote;
    while (first > begin && text[first - 1] == '\\') --first;
    if ((quote - first) % 2 == 0) return quote;
    from = quote + 1;
  }
  return std::string_view::npos;
}

/// The offset after the bracket that closes the one at `begin`, or npos.
size_t after_brackets(std::string_view text, size_t begin) {
  int64_t depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = closing_quote(text, i + 1);
      if (i == std::string_view::npos) return i;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// The number that all of a text is; from_chars alone would take "inf" and "nan", too.
template <typename Number>
std::optional<Number> whole_number(std::string_view value) {
  const size_t digit = value.starts_with('-') ? 1 : 0;
  if (digit >= value.size() || value[digit] < '0' || value[digit] > '9') return std::nullopt;
  Number number{};
  const char* const end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

bool is_word(std::string_view value) { return value == "null" || value == "true" || value == "false"; }

}  // namespace

JsonMembers::JsonMembers(std::string_view text) : text_(text) {
  if (!take('{')) fail();
}

bool JsonMembers::fail() {
  is_damaged_ = true;
  return false;
}

void JsonMembers::skip_space() {
  while (place_ < text_.size() && is_json_space(text_[place_])) ++place_;
}

bool JsonMembers::take(char expected) {
  skip_space();
  if (place_ == text_.size() || text_[place_] != expected) return false;
  ++place_;
  return true;
}

bool JsonMembers::read_string(std::string_view& inner) {
  if (!take('"')) return false;
  const size_t end = closing_quote(text_, place_);
  if (end == std::string_view::npos) return false;
  inner = text_.substr(place_, end - place_);
  place_ = end + 1;
  return true;
}

bool JsonMembers::read_value() {
  skip_space();
  number_.reset();
  const size_t begin = place_;
  if (begin == text_.size()) return false;
  const char first = text_[begin];
  if (first == '"') {
    std::string_view inner;
    if (!read_string(inner)) return false;
  } else if (first == '{' || first == '[') {
    place_ = after_brackets(text_, begin);
    if (place_ == std::string_view::npos) return false;
  } else {
    while (place_ < text_.size() && text_[place_] != ',' && text_[place_] != '}' &&
           !is_json_space(text_[place_]))
      ++place_;
    const std::string_view scalar = text_.substr(begin, place_ - begin);
    if (!is_word(scalar)) number_ = whole_number<double>(scalar);
    if (!number_ && !is_word(scalar)) return false;
  }
  value_ = text_.substr(begin, place_ - begin);
  return true;
}

bool JsonMembers::next() {
  if (is_damaged_) return false;
  if (take('}')) {
    skip_space();
    return place_ == text_.size() ? false : fail();
  }
  if (!is_first_ && !take(',')) return fail();
  is_first_ = false;
  return (read_string(key_) && take(':') && read_value()) || fail();
}

std::optional<std::string> unescaped_json(std::string_view inner) {
  if (inner.find('\\') == std::string_view::npos) return std::string(inner);
  const Json value = Json::parse('"' + std::string(inner) + '"', nullptr, /*allow_exceptions=*/false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<int64_t> json_integer(std::string_view value) { return whole_number<int64_t>(value); }

int64_t count_json_scalars(std::string_view array) {
  if (!array.starts_with('[') || !array.ends_with(']')) return 0;
  const std::string_view inner = array.substr(1, array.size() - 2);
  if (std::ranges::all_of(inner, is_json_space)) return 0;
  return 1 + std::ranges::count(inner, ',');
}

}  // namespace cohort
