#include "libs/answers/internal/foreign_text.h"

#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

bool is_beyond_ascii(std::string_view text, size_t position) {
  return position < text.size() && static_cast<unsigned char>(text[position]) >= 0x80;
}

// The length of a letter of this kind beyond ASCII; 0 for other characters.
size_t letter_length(std::string_view text, size_t position, Neighbor kind) {
  size_t length = 0, next = position;
  if (!is_beyond_ascii(text, position) || find_sign(text.substr(position), length)) return 0;
  return neighbor_at(text, next) == kind ? next - position : 0;
}

}  // namespace

size_t foreign_letter_length(std::string_view text, size_t position) {
  return letter_length(text, position, Neighbor::kLetter);
}

bool is_foreign_letter(std::string_view text, size_t position) {
  return foreign_letter_length(text, position) > 0 || letter_length(text, position, Neighbor::kCjk) > 0;
}

size_t word_length(std::string_view text, size_t position) {
  while (position < text.size()) {
    const size_t length = is_letter(text[position]) ? 1 : foreign_letter_length(text, position);
    if (length == 0) break;
    position += length;
  }
  return position;
}

size_t foreign_word_length(std::string_view text) {
  // More than the number before them, or a part of it: 12多, 12半, 12分之一. They count nothing.
  for (const std::string_view change :
       {"多", "余", "餘", "半", "几", "幾", "分之", "分の", "분의", "出头", "出頭"}) {
    if (text.starts_with(change)) return 0;
  }
  size_t end = 0;
  while (const size_t length = letter_length(text, end, Neighbor::kCjk)) end += length;
  return end > 0 ? end : word_length(text, 0);
}

std::vector<std::string_view> split_scales(std::string_view word) {
  std::vector<std::string_view> parts;
  while (!word.empty() && !is_unit_name(word)) {
    const size_t length = character_length(word, 0);
    if (!find_number_word(word.substr(0, length))) break;
    parts.push_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  if (!word.empty()) parts.push_back(word);
  return parts;
}

bool is_words(std::string_view content) {
  for (size_t i = 0; i < content.size(); i += character_length(content, i)) {
    const char c = content[i];
    if (is_letter(c) || is_foreign_letter(content, i)) continue;
    const bool joins = std::string_view(" \t\n\r~-'.").find(c) != std::string_view::npos;
    if (i == 0 || !joins) return false;
  }
  return !content.empty();
}

}  // namespace cohort::answers
