#include "cohort/text/hidden_characters.h"

#include <algorithm>

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

std::optional<char32_t> find_in(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const char32_t point = next_code_point(text, pos);
    if (is_hidden_character(point)) return point;
  }
  return std::nullopt;
}

}  // namespace

bool is_hidden_character(char32_t code_point) {
  if (code_point >= 0x20 && code_point < 0x7F) return false;
  return std::any_of(std::begin(kHidden), std::end(kHidden), [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::optional<char32_t> find_hidden_character(const Json& value) {
  if (value.is_string()) return find_in(value.get_ref<const std::string&>());
  if (!value.is_structured()) return std::nullopt;
  for (const auto& [key, child] : value.items()) {
    if (const auto found = value.is_object() ? find_in(key) : std::nullopt) return found;
    if (const auto found = find_hidden_character(child)) return found;
  }
  return std::nullopt;
}

}  // namespace cohort
