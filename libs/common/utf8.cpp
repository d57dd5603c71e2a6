#include "libs/common/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cohort {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class SequenceState { kValid, kInvalid, kUnfinished };

/// One sequence, or its maximal subpart where it is not valid.
struct Sequence {
  size_t length;
  SequenceState state;
};

/// What the Unicode standard's table 3-7 allows behind a lead byte.
struct Lead {
  int num_trailing;
  uint8_t second_min;
  uint8_t second_max;
};

std::optional<Lead> classify(uint8_t byte) {
  if (byte < 0x80) return Lead{0, 0, 0};
  if (byte < 0xC2 || byte > 0xF4) return std::nullopt;
  if (byte < 0xE0) return Lead{1, 0x80, 0xBF};
  if (byte == 0xE0) return Lead{2, 0xA0, 0xBF};
  if (byte == 0xED) return Lead{2, 0x80, 0x9F};
  if (byte < 0xF0) return Lead{2, 0x80, 0xBF};
  if (byte == 0xF0) return Lead{3, 0x90, 0xBF};
  if (byte == 0xF4) return Lead{3, 0x80, 0x8F};
  return Lead{3, 0x80, 0xBF};
}

Sequence scan(std::string_view text, size_t pos) {
  const std::optional<Lead> lead = classify(static_cast<uint8_t>(text[pos]));
  if (!lead) return {1, SequenceState::kInvalid};
  for (int i = 1; i <= lead->num_trailing; ++i) {
    if (pos + i >= text.size()) return {static_cast<size_t>(i), SequenceState::kUnfinished};
    const auto byte = static_cast<uint8_t>(text[pos + i]);
    const uint8_t min = i == 1 ? lead->second_min : 0x80;
    const uint8_t max = i == 1 ? lead->second_max : 0xBF;
    if (byte < min || byte > max) return {static_cast<size_t>(i), SequenceState::kInvalid};
  }
  return {static_cast<size_t>(lead->num_trailing) + 1, SequenceState::kValid};
}

std::string take(std::string& bytes, bool more_may_follow) {
  std::string text;
  size_t pos = 0;
  while (pos < bytes.size()) {
    const Sequence sequence = scan(bytes, pos);
    if (sequence.state == SequenceState::kUnfinished && more_may_follow) break;
    if (sequence.state == SequenceState::kValid) {
      text.append(bytes, pos, sequence.length);
    } else {
      text += kReplacement;
    }
    pos += sequence.length;
  }
  bytes.erase(0, pos);
  return text;
}

}  // namespace

size_t skip_ascii(std::string_view text, size_t pos) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  for (uint64_t word; pos + sizeof word <= text.size(); pos += sizeof word) {
    std::memcpy(&word, text.data() + pos, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (pos < text.size() && static_cast<uint8_t>(text[pos]) < 0x80) ++pos;
  return pos;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t pos = skip_ascii(text, 0); pos < text.size(); pos = skip_ascii(text, pos)) {
    const Sequence sequence = scan(text, pos);
    if (sequence.state != SequenceState::kValid) return pos;
    pos += sequence.length;
  }
  return std::nullopt;
}

int64_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; });
}

char32_t next_code_point(std::string_view text, size_t& pos) {
  const auto lead = static_cast<uint8_t>(text[pos++]);
  if (lead < 0x80) return lead;
  const int num_trailing = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  char32_t code_point = lead & (0x3F >> num_trailing);
  for (int i = 0; i < num_trailing; ++i)
    code_point = code_point << 6 | (static_cast<uint8_t>(text[pos++]) & 0x3F);
  return code_point;
}

char32_t last_code_point(std::string_view text) {
  size_t pos = text.size() - 1;
  while ((static_cast<uint8_t>(text[pos]) & 0xC0) == 0x80) --pos;
  return next_code_point(text, pos);
}

void append_utf8(std::string& out, char32_t code_point) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
    return;
  }
  const int num_trailing = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint8_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLeads[num_trailing] | code_point >> (6 * num_trailing));
  for (int i = num_trailing - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3F));
}

std::string take_certain_utf8(std::string& bytes) { return take(bytes, true); }

std::string take_all_utf8(std::string& bytes) { return take(bytes, false); }

}  // namespace cohort
