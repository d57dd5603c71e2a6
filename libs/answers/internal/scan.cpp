#include "libs/answers/internal/scan.h"

namespace cohort::answers {

std::optional<size_t> closing_brace(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && (i == 0 || text[i - 1] != '\\')) ++depth;
    if (text[i] == '}' && text[i - 1] != '\\' && --depth == 0) return i;
  }
  return std::nullopt;
}

size_t count_dollars(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) count += text[i] == '$' && (i == 0 || text[i - 1] != '\\');
  return count;
}

size_t thousands_separator_length(std::string_view text, bool is_in_brackets) {
  for (std::string_view spelling : {"{,}", ",\\! ", ",\\!", "\\!,", "\\,", "\\ ", "\\;", ","}) {
    if (!text.starts_with(spelling)) continue;
    return spelling == "," && is_in_brackets ? 0 : spelling.size();
  }
  return 0;
}

}  // namespace cohort::answers
