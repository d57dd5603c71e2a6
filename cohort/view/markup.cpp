#include "cohort/view/markup.h"

#include <algorithm>

#include "libs/common/visible_text.h"

namespace cohort {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : visible_text(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]()#+-!|~";
  std::string escaped;
  for (const char c : visible_line(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown_code(std::string_view text, std::string_view language) {
  const std::string shown = visible_text(text);
  size_t longest = 2, present = 0;
  for (const char c : shown) {
    present = c == '`' ? present + 1 : 0;
    longest = std::max(longest, present);
  }
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + shown + (shown.ends_with('\n') ? "" : "\n") + fence + "\n";
}

}  // namespace cohort
