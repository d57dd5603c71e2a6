// GPT-2's alphabet: each byte as one printable character, so that a vocabulary of byte strings is a list of
// words.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// The character, in UTF-8, that stands for each byte.
const std::array<std::string, 256>& byte_characters();

/// `bytes` spelled in the alphabet.
std::string to_byte_characters(std::string_view bytes);

/// The bytes that well-formed `characters` stand for; nothing when one of them is not of the alphabet.
std::optional<std::string> from_byte_characters(std::string_view characters);

}  // namespace cohort
