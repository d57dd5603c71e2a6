// Words of scripts other than Latin in mathematics: of what is counted, and scales.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace cohort::answers {

/// The length of a letter beyond ASCII at `position` that no sign of mathematics is, and whose script
/// separates words by spaces; 0 for other characters.
size_t foreign_letter_length(std::string_view text, size_t position);

/// Does a letter beyond ASCII stand at `position`, Han, Kana and Hangul included?
bool is_foreign_letter(std::string_view text, size_t position);

/// Where the word ends that goes on at `position`, in letters of ASCII and beyond.
size_t word_length(std::string_view text, size_t position);

/// The length of the word beyond ASCII at the start of the text; 0 where none begins there.
size_t foreign_word_length(std::string_view text);

/// A word and, before it, the scales that a number takes: 万 and 元 of 万元.
std::vector<std::string_view> split_scales(std::string_view word);

/// Letters of any script with spaces, hyphens, apostrophes and full stops, and no signs of mathematics?
bool is_words(std::string_view content);

}  // namespace cohort::answers
