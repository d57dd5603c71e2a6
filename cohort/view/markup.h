// Texts inside HTML and Markdown. What is invisible or acts on a terminal is spelled out (visible_text.h).
#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Text for the content of an element or a quoted attribute.
std::string escape_html(std::string_view text);

/// Text in a line or a table's cell of Markdown: no character of it is markup, and it stays on one line.
std::string escape_markdown(std::string_view text);

/// A fenced block, whose fence is longer than any in the text.
std::string markdown_code(std::string_view text, std::string_view language = "");

}  // namespace cohort
