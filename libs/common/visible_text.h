// Texts of models as something to look at: what would act on a terminal or hide in a page is spelled out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort {

/// Whether nobody sees the code point: a control character other than tab, line feed and carriage return, an
/// invisible format character such as U+200B or U+202E, or a tag of plane 14. The joiners U+200C and U+200D,
/// which scripts and emoji need, do not count.
bool is_hidden_character(char32_t code_point);

/// `text` with every control character but tab and line feed, every bidirectional mark and every invisible
/// character as its number: U+202E becomes "⟨U+202E⟩". Bytes that are no UTF-8 become U+FFFD.
std::string visible_text(std::string_view text);

/// The same on one line: a line feed becomes "⏎", a tab a space.
std::string visible_line(std::string_view text);

/// The first bytes of a text, at most `max_bytes`, cut at the end of a character.
std::string first_bytes(std::string_view text, size_t max_bytes);

/// The first columns of a line for a terminal, at most `width`; "…" is the last one if more was there. Counts
/// two columns for wide characters and none for combining ones.
std::string first_columns(std::string_view line, int64_t width);

/// The columns that a line takes in a terminal.
int64_t num_columns(std::string_view line);

}  // namespace cohort
