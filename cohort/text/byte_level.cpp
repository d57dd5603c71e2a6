#include "cohort/text/byte_level.h"

#include <cstdint>

#include "libs/common/utf8.h"

namespace cohort {
namespace {

// The bytes without a visible Latin-1 character take the code points from 256 on, in order.
struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<int16_t, 324> bytes;  // by code point; -1 where there is none

  Alphabet() {
    bytes.fill(-1);
    char32_t next_substitute = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const char32_t code_point = visible ? static_cast<char32_t>(byte) : next_substitute++;
      append_utf8(characters[byte], code_point);
      bytes[code_point] = static_cast<int16_t>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet alphabet;
  return alphabet;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() { return alphabet().characters; }

std::string to_byte_characters(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += byte_characters()[static_cast<uint8_t>(byte)];
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view characters) {
  std::string out;
  for (size_t pos = 0; pos < characters.size();) {
    const char32_t code_point = next_code_point(characters, pos);
    if (code_point >= alphabet().bytes.size() || alphabet().bytes[code_point] < 0) return std::nullopt;
    out += static_cast<char>(alphabet().bytes[code_point]);
  }
  return out;
}

}  // namespace cohort
