#include "libs/common/answer_marks.h"

#include <algorithm>
#include <cstdint>

namespace cohort {
namespace {

// The inside of the braces that `text` begins with; nothing where they don't close.
std::optional<std::string_view> leading_group(std::string_view text) {
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // \{ and \} are text, and so is the second backslash of a line break
      continue;
    }
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return text.substr(1, i - 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> last_answer(std::string_view text) {
  constexpr std::string_view kOpen = "<answer>";
  size_t close = text.rfind("</answer>");
  if (close == std::string_view::npos) return std::nullopt;
  size_t open = text.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  size_t begin = open + kOpen.size();
  return text.substr(begin, close - begin);
}

Box last_box(std::string_view text) {
  constexpr std::string_view kNames[] = {"\\boxed", "\\fbox"};
  size_t begin = 0;  // behind the name; 0 is none
  for (const std::string_view name : kNames) {
    const size_t found = text.rfind(name);
    if (found != std::string_view::npos) begin = std::max(begin, found + name.size());
  }
  if (begin == 0) return {};
  const size_t start = std::min(text.find_first_not_of(" \n", begin), text.size());
  const std::string_view rest = text.substr(start);
  if (rest.starts_with('{')) {
    const auto group = leading_group(rest);
    return {group, !group};
  }
  const std::string_view bare = rest.substr(0, rest.find_first_of(" \n$.,\\"));
  if (bare.empty()) return {};
  return {bare, false};
}

std::string_view behind_thinking(std::string_view text) {
  constexpr std::string_view kClose = "</think>";
  const size_t close = text.rfind(kClose);
  return close == std::string_view::npos ? text : text.substr(close + kClose.size());
}

}  // namespace cohort
