#include "libs/jinja/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort::jinja {
namespace {

bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

/// The size of the code point whose first byte is `lead`.
size_t sequence_size(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

bool is_space_at(std::string_view text, size_t pos) { return is_space(next_code_point(text, pos)); }

size_t last_start(std::string_view text) {
  size_t pos = text.size() - 1;
  while (is_continuation(text[pos])) --pos;
  return pos;
}

/// Line ends of str.splitlines: the size of the one at `pos`, or 0.
size_t line_end_size(std::string_view text, size_t pos) {
  size_t end = pos;
  const char32_t code_point = next_code_point(text, end);
  if (code_point == '\r' && end < text.size() && text[end] == '\n') return 2;
  const bool ends = (code_point >= '\n' && code_point <= '\r') ||
                    (code_point >= 0x1C && code_point <= 0x1E) || code_point == 0x85 ||
                    code_point == 0x2028 || code_point == 0x2029;
  return ends ? end - pos : 0;
}

/// As text.find(part, start), in linear time whatever the texts.
size_t find_from(std::string_view text, std::string_view part, size_t start) {
  const void* found = memmem(text.data() + start, text.size() - start, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<const char*>(found) - text.data();
}

}  // namespace

size_t byte_offset(std::string_view text, int64_t index) {
  size_t pos = 0;
  for (; index > 0 && pos < text.size(); --index) pos += sequence_size(text[pos]);
  return pos;
}

bool is_space(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0D) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
         (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 || code_point == 0x2029 ||
         code_point == 0x202F || code_point == 0x205F || code_point == 0x3000;
}

bool is_printable(char32_t code_point) {
  static const CodePointSet others = *general_category("C"), separators = *general_category("Z");
  if (code_point < 0x7F) return code_point >= ' ';
  return !others.contains(code_point) && !separators.contains(code_point);
}

bool is_alphabetic(char32_t code_point) {
  static const CodePointSet letters = *general_category("L");
  return letters.contains(code_point);
}

bool is_decimal(char32_t code_point) {
  static const CodePointSet decimals = *general_category("Nd");
  return decimals.contains(code_point);
}

bool is_digit(char32_t code_point) {
  // Digits that are not decimal: superscripts, circled digits and the like.
  static const CodePointSet others(std::vector<CodePointRange>{
      {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
      {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
      {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
      {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}});
  return is_decimal(code_point) || others.contains(code_point);
}

bool is_numeric(char32_t code_point) { return numeric().contains(code_point); }

std::string_view strip(std::string_view text, Sides sides, std::optional<std::string_view> characters) {
  std::vector<CodePointRange> ranges;
  for (size_t pos = 0; characters && pos < characters->size();) {
    const char32_t code_point = next_code_point(*characters, pos);
    ranges.push_back({code_point, code_point});
  }
  const CodePointSet set(std::move(ranges));
  const auto goes = [&](char32_t code_point) {
    return characters ? set.contains(code_point) : is_space(code_point);
  };
  while (sides != Sides::kRight && !text.empty()) {
    size_t pos = 0;
    if (!goes(next_code_point(text, pos))) break;
    text.remove_prefix(pos);
  }
  while (sides != Sides::kLeft && !text.empty()) {
    if (!goes(last_code_point(text))) break;
    text = text.substr(0, last_start(text));
  }
  return text;
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> parts;
  text = strip(text, Sides::kLeft);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size() && !is_space_at(text, end)) end += sequence_size(text[end]);
    parts.push_back(text.substr(0, end));
    text = strip(text.substr(end), Sides::kLeft);
  }
  return parts;
}

std::vector<std::string_view> rsplit_at_space(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> parts;
  text = strip(text, Sides::kRight);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits) {
      parts.push_back(text);
      break;
    }
    size_t start = text.size();
    while (start > 0 && !is_space(last_code_point(text.substr(0, start))))
      start = last_start(text.substr(0, start));
    parts.push_back(text.substr(start));
    text = strip(text.substr(0, start), Sides::kRight);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       int64_t max_splits) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t end = find_from(text, separator, start);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(start, end - start));
    start = end + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::vector<std::string_view> rsplit_at(std::string_view text, std::string_view separator,
                                        int64_t max_splits) {
  std::vector<std::string_view> parts;
  size_t end = text.size();
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t start =
        end < separator.size() ? std::string_view::npos : text.rfind(separator, end - separator.size());
    if (start == std::string_view::npos) break;
    parts.push_back(text.substr(start + separator.size(), end - start - separator.size()));
    end = start;
  }
  parts.push_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t size = line_end_size(text, pos);
    if (size == 0) {
      pos += sequence_size(text[pos]);
      continue;
    }
    lines.push_back(text.substr(start, pos - start + (keep_ends ? size : 0)));
    start = pos += size;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

int64_t count_occurrences(std::string_view text, std::string_view part) {
  if (part.empty()) return count_code_points(text) + 1;
  int64_t count = 0;
  for (size_t pos = find_from(text, part, 0); pos != std::string_view::npos;
       pos = find_from(text, part, pos + part.size()))
    ++count;
  return count;
}

std::string replace(std::string_view text, std::string_view part, std::string_view by, int64_t max_count) {
  std::string result;
  size_t start = 0;
  for (int64_t count = 0; max_count < 0 || count < max_count; ++count) {
    if (part.empty()) {
      result += by;
      if (start == text.size()) break;
      const size_t size = sequence_size(text[start]);
      result += text.substr(start, size);
      start += size;
      continue;
    }
    const size_t end = find_from(text, part, start);
    if (end == std::string_view::npos) break;
    result.append(text.substr(start, end - start)).append(by);
    start = end + part.size();
  }
  return result.append(text.substr(start));
}

std::string in_quotes(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (size_t pos = 0; pos < text.size();) {
    const size_t start = pos;
    const char32_t code_point = next_code_point(text, pos);
    char escape[16];
    if (code_point == static_cast<char32_t>(quote) || code_point == '\\') {
      result.append(1, '\\').append(1, static_cast<char>(code_point));
    } else if (code_point == '\n' || code_point == '\r' || code_point == '\t') {
      result += code_point == '\n' ? "\\n" : code_point == '\r' ? "\\r" : "\\t";
    } else if (is_printable(code_point)) {
      result += text.substr(start, pos - start);
    } else {
      const char* format = code_point < 0x100 ? "\\x%02x" : code_point < 0x10000 ? "\\u%04x" : "\\U%08x";
      std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(code_point));
      result += escape;
    }
  }
  return result.append(1, quote);
}

std::string float_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[40];
  const double size = std::fabs(number);
  const bool plain = number == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer, std::end(buffer), number, format).ptr;
  std::string result(buffer, end);
  if (plain && result.find('.') == std::string::npos) result += ".0";
  return result;
}

std::string escape_markup(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '"':
        result += "&#34;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace cohort::jinja
