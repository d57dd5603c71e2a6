#include "cohort/text/grammar/grammar.h"

#include <algorithm>
#include <string>

#include "cohort/core/error.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr size_t kMostStates = 50'000;

std::string utf8_of(char32_t code_point) {
  std::string bytes;
  append_utf8(bytes, code_point);
  return bytes;
}

Symbol byte_of(char c) { return static_cast<unsigned char>(c); }

}  // namespace

Grammar::State Grammar::add_state() {
  if (nodes_.size() >= kMostStates)
    throw UserError(str("it needs more than ", kMostStates, " states; shorten its repetitions"));
  nodes_.emplace_back();
  return static_cast<State>(nodes_.size() - 1);
}

Grammar::Rule Grammar::add_rule() {
  const State begin = add_state();
  rules_.push_back({begin, add_state()});
  return static_cast<Rule>(rules_.size() - 1);
}

void Grammar::add_text(State from, std::string_view text, State to) {
  if (text.empty()) return add_skip(from, to);
  for (size_t i = 0; i < text.size(); ++i) {
    const State next = i + 1 < text.size() ? add_state() : to;
    add_symbols(from, byte_of(text[i]), byte_of(text[i]), next);
    from = next;
  }
}

void Grammar::add_code_point(State from, const CodePointSet& set, State to) {
  for (const CodePointRange& range : set.ranges()) {
    // UTF-8 has no surrogates, and the ranges between these bounds have one length each.
    constexpr CodePointRange kLengths[] = {
        {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kMaxCodePoint}};
    for (const CodePointRange& length : kLengths) {
      const char32_t first = std::max(range.first, length.first), last = std::min(range.last, length.last);
      if (first <= last) add_code_points(from, {first, last}, to);
    }
  }
}

// Cuts the range until each piece is a product of byte ranges.
void Grammar::add_code_points(State from, CodePointRange range, State to) {
  const std::string first = utf8_of(range.first), last = utf8_of(range.last);
  for (size_t i = 1; i < first.size(); ++i) {
    const char32_t low = (char32_t{1} << (6 * i)) - 1;
    if ((range.first & ~low) == (range.last & ~low)) continue;
    if ((range.first & low) != 0) {
      add_code_points(from, {range.first, range.first | low}, to);
      return add_code_points(from, {(range.first | low) + 1, range.last}, to);
    }
    if ((range.last & low) != low) {
      add_code_points(from, {range.first, (range.last & ~low) - 1}, to);
      return add_code_points(from, {range.last & ~low, range.last}, to);
    }
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const State next = i + 1 < first.size() ? add_state() : to;
    add_symbols(from, byte_of(first[i]), byte_of(last[i]), next);
    from = next;
  }
}

}  // namespace cohort
