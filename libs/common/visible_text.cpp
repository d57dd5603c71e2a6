#include "libs/common/visible_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

struct CodePoints {
  char32_t first, last;
};

constexpr CodePoints kHidden[] = {
    {0x00, 0x08},     {0x0B, 0x0C},     {0x0E, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},
    {0x61C, 0x61C},   {0x180E, 0x180E}, {0x200B, 0x200B}, {0x200E, 0x200F},   {0x202A, 0x202E},
    {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

/// Blocks whose characters take two columns (East Asian wide and emoji).
constexpr CodePoints kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

int64_t columns_of(char32_t point) {
  if (point < 0x300) return 1;
  if (point == 0x200C || point == 0x200D || (point >= 0xFE00 && point <= 0xFE0F)) return 0;
  if (combining_marks().contains(point)) return 0;
  for (const CodePoints& range : kWide) {
    if (point >= range.first && point <= range.last) return 2;
  }
  return 1;
}

bool acts(char32_t point) {
  return point == '\r' || point == 0x2028 || point == 0x2029 || is_hidden_character(point);
}

std::string shown_text(std::string_view text, bool is_line) {
  std::string bytes(text);
  const std::string well_formed = take_all_utf8(bytes);
  std::string result;
  result.reserve(well_formed.size());
  for (size_t pos = 0; pos < well_formed.size();) {
    const char32_t point = next_code_point(well_formed, pos);
    if (is_line && point == '\n') {
      result += "⏎";
    } else if (is_line && point == '\t') {
      result += ' ';
    } else if (acts(point)) {
      char number[24];
      std::snprintf(number, sizeof number, "⟨U+%04X⟩", static_cast<unsigned>(point));
      result += number;
    } else {
      append_utf8(result, point);
    }
  }
  return result;
}

}  // namespace

bool is_hidden_character(char32_t code_point) {
  if (code_point >= 0x20 && code_point < 0x7F) return false;
  return std::ranges::any_of(kHidden, [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::string visible_text(std::string_view text) { return shown_text(text, /*is_line=*/false); }

std::string visible_line(std::string_view text) { return shown_text(text, /*is_line=*/true); }

std::string first_bytes(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

int64_t num_columns(std::string_view line) {
  int64_t count = 0;
  for (size_t pos = 0; pos < line.size();) count += columns_of(next_code_point(line, pos));
  return count;
}

std::string first_columns(std::string_view line, int64_t width) {
  if (num_columns(line) <= width) return std::string(line);
  std::string result;
  int64_t used = 0;
  for (size_t pos = 0; pos < line.size();) {
    const size_t begin = pos;
    used += columns_of(next_code_point(line, pos));
    if (used > width - 1) break;
    result += line.substr(begin, pos - begin);
  }
  return width > 0 ? result + "…" : "";
}

}  // namespace cohort
