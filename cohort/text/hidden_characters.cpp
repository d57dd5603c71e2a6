#include "cohort/text/hidden_characters.h"

#include "libs/common/utf8.h"
#include "libs/common/visible_text.h"

namespace cohort {
namespace {

std::optional<char32_t> find_in(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const char32_t point = next_code_point(text, pos);
    if (is_hidden_character(point)) return point;
  }
  return std::nullopt;
}

}  // namespace

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
