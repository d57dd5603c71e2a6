// One spelling for the characters that writing systems spell differently.
#pragma once

#include <string>
#include <string_view>

namespace cohort::answers {

/// `text` with ASCII digits, spaces and marks in place of those of other scripts: １２ and १२ are 12,
/// no-break and thin spaces are spaces, 。is a full stop with a space behind it, ¹⁄₂ is 1/2. Characters
/// without width are dropped. Bytes that are no UTF-8 become U+FFFD.
std::string to_plain(std::string_view text);

/// How a character behind or before a value separates it from the rest of the text.
enum class Neighbor : unsigned char {
  kBoundary,  ///< a mark, an emoji, an arrow: the value ends here
  kLetter,    ///< of a script that parts words by spaces
  kCjk,       ///< Han, Kana and Hangul, whose words touch numbers
  kUnknown,   ///< a sign of mathematics or a raised letter, which may change the value
};

/// Bytes of the character at byte `pos`; 1 for a byte that is no UTF-8.
size_t character_length(std::string_view text, size_t pos);

/// The class of the character beyond ASCII at byte `pos`, which moves past it.
Neighbor neighbor_at(std::string_view text, size_t& pos);

}  // namespace cohort::answers
