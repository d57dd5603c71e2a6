#include "cohort/text/tool_calls/bare_json.h"

#include "libs/common/ascii.h"

namespace cohort {

bool begins_as_call(std::string_view text) {
  if (!text.starts_with('{')) return false;
  const std::string_view key = trim(text.substr(1));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return key.starts_with("\"name\"") && (has("\"arguments\"") || has("\"parameters\""));
}

std::optional<size_t> find_bare_call(std::string_view text) {
  for (size_t place = text.find('{'); place != std::string_view::npos; place = text.find('{', place + 1)) {
    const std::string_view key = trim(text.substr(place + 1, 64));
    if (key.starts_with("\"name\"") && begins_as_call(text.substr(place))) return place;
  }
  return std::nullopt;
}

std::optional<std::string_view> take_json(std::string_view& text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth <= 0) {
      const std::string_view taken = text.substr(0, i + 1);
      text.remove_prefix(i + 1);
      return taken;
    }
  }
  return std::nullopt;
}

}  // namespace cohort
