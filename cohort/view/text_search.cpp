#include <algorithm>

#include "cohort/core/json.h"
#include "cohort/view/completion_query.h"
#include "libs/common/ascii.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

bool is_ascii(std::string_view text) { return skip_ascii(text, 0) == text.size(); }

std::string folded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) append_utf8(result, to_lowercase(next_code_point(text, pos)));
  return result;
}

/// Whether `text` has `lower`, which is ASCII in lower case. Bytes beyond ASCII match nothing.
bool has_ascii(std::string_view text, std::string_view lower) {
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const char first[] = {
      lower[0], lower[0] >= 'a' && lower[0] <= 'z' ? static_cast<char>(lower[0] - 'a' + 'A') : lower[0]};
  for (size_t pos = 0; (pos = text.find_first_of(std::string_view(first, 2), pos)) != std::string_view::npos;
       ++pos) {
    if (text.size() - pos < lower.size()) return false;
    if (std::equal(lower.begin(), lower.end(), text.begin() + static_cast<int64_t>(pos),
                   [&](char b, char a) { return is_same(a, b); }))
      return true;
  }
  return false;
}

/// Whether a line may have `lower` anywhere: false spares its parsing.
bool may_have(const std::string& line, const std::string& lower) {
  const bool is_plain =
      std::ranges::none_of(lower, [](char c) { return c < 0x20 || c == '"' || c == '\\' || c == '/'; });
  return !is_plain || line.find("\\u") != std::string::npos || has_ascii(line, lower);
}

}  // namespace

bool has_text(const std::string& line, const std::string& text) {
  if (text.empty()) return true;
  const bool folds = !is_ascii(text);
  const std::string lower = folds ? folded(text) : lower_case(text);
  if (!folds && !may_have(line, lower)) return false;
  const Json row = parse_json_line(line, "completions.jsonl", 1);
  for (const char* key : {"prompt", "completion"}) {
    const auto value = row.is_object() ? row.find(key) : row.end();
    if (value == row.end() || !value->is_string()) continue;
    const auto& own = value->get_ref<const std::string&>();
    if (folds ? folded(own).find(lower) != std::string::npos : has_ascii(own, lower)) return true;
  }
  return false;
}

}  // namespace cohort
