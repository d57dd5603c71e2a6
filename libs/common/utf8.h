// UTF-8 as the Unicode standard defines it: validation, code points, and replacement by maximal subparts,
// which is what Rust's from_utf8_lossy and hence Hugging Face's decoders do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// Byte offset of the first ill-formed or unfinished sequence.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// Where the first byte beyond ASCII stands, from `pos` on; the size of `text` where there is none.
size_t skip_ascii(std::string_view text, size_t pos);

/// The number of code points of well-formed `text`.
int64_t count_code_points(std::string_view text);

/// The code point at byte `pos` of well-formed `text`; moves `pos` past it.
char32_t next_code_point(std::string_view text, size_t& pos);

/// The last code point of well-formed, non-empty `text`.
char32_t last_code_point(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

/// Moves from `bytes` to the result all text that later bytes cannot change, each ill-formed sequence
/// replaced by U+FFFD. At most three bytes, the start of a sequence, stay behind.
std::string take_certain_utf8(std::string& bytes);

/// As take_certain_utf8, where nothing follows: an unfinished sequence becomes U+FFFD.
std::string take_all_utf8(std::string& bytes);

}  // namespace cohort
