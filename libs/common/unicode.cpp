#include "libs/common/unicode.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace cohort {
namespace {

/// Code points first, first + stride, ... last, whose lower-case forms lie `delta` above them.
struct LowercaseRun {
  char32_t first;
  char32_t last;
  char32_t stride;
  int32_t delta;
};

#include "libs/common/unicode_tables.inc"

// A run is length * 32 + index into kCategories; the runs cover all code points in order.
CodePointSet categories_where(const auto& wanted) {
  std::vector<CodePointRange> ranges;
  char32_t first = 0;
  for (const uint32_t run : kCategoryRuns) {
    const char32_t length = run / 32;
    if (wanted(std::string_view(kCategories[run % 32]))) ranges.push_back({first, first + length - 1});
    first += length;
  }
  return CodePointSet(std::move(ranges));
}

CodePointSet merged(const CodePointSet& set, const auto& extra) {
  std::vector<CodePointRange> ranges = set.ranges();
  ranges.insert(ranges.end(), std::begin(extra), std::end(extra));
  return CodePointSet(std::move(ranges));
}

}  // namespace

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const CodePointRange& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool CodePointSet::contains(char32_t code_point) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

CodePointSet CodePointSet::complement() const {
  std::vector<CodePointRange> gaps;
  char32_t first = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > first) gaps.push_back({first, range.first - 1});
    first = range.last + 1;
  }
  if (first <= kMaxCodePoint) gaps.push_back({first, kMaxCodePoint});
  return CodePointSet(std::move(gaps));
}

CodePointSet CodePointSet::intersected(const CodePointSet& other) const {
  std::vector<CodePointRange> outside = complement().ranges();
  const std::vector<CodePointRange> more = other.complement().ranges();
  outside.insert(outside.end(), more.begin(), more.end());
  return CodePointSet(std::move(outside)).complement();
}

std::optional<CodePointSet> general_category(std::string_view name) {
  const bool known =
      std::any_of(std::begin(kCategories), std::end(kCategories), [&](std::string_view category) {
        return category == name || (name.size() == 1 && category[0] == name[0]);
      });
  if (!known) return std::nullopt;
  return categories_where([&](std::string_view category) { return category.starts_with(name); });
}

std::optional<CodePointSet> script(std::string_view name) {
  if (name == "Han") return merged(CodePointSet(), kHan);
  if (name == "Hiragana") return merged(CodePointSet(), kHiragana);
  if (name == "Katakana") return merged(CodePointSet(), kKatakana);
  if (name == "Hangul") return merged(CodePointSet(), kHangul);
  return std::nullopt;
}

const CodePointSet& white_space() {
  static const CodePointSet set({{0x9, 0xD},
                                 {0x20, 0x20},
                                 {0x85, 0x85},
                                 {0xA0, 0xA0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200A},
                                 {0x2028, 0x2029},
                                 {0x202F, 0x202F},
                                 {0x205F, 0x205F},
                                 {0x3000, 0x3000}});
  return set;
}

const CodePointSet& numeric() {
  static const CodePointSet set = merged(*general_category("N"), kNumericExtra);
  return set;
}

const CodePointSet& word_characters() {
  static const CodePointSet set = merged(categories_where([](std::string_view c) {
                                           return c[0] == 'L' || c[0] == 'M' || c == "Nd" || c == "Pc";
                                         }),
                                         kWordExtra);
  return set;
}

const CodePointSet& punctuation() {
  static const CodePointSet set = merged(CodePointSet(), kPunctuation);
  return set;
}

const CodePointSet& combining_marks() {
  static const CodePointSet set = merged(CodePointSet(), kCombiningMark);
  return set;
}

char32_t to_lowercase(char32_t c) {
  if (c == 0x130) return 'i';
  const auto after =
      std::upper_bound(std::begin(kLowercase), std::end(kLowercase), c,
                       [](char32_t value, const LowercaseRun& run) { return value < run.first; });
  if (after == std::begin(kLowercase)) return c;
  const LowercaseRun& run = *std::prev(after);
  if (c <= run.last && (c - run.first) % run.stride == 0)
    return static_cast<char32_t>(static_cast<int64_t>(c) + run.delta);
  return c;
}

const CodePointSet& compat_inert() {
  static const CodePointSet set = merged(CodePointSet(), kCompatInert);
  return set;
}

const CodePointSet& nfc_inert() {
  static const CodePointSet set = merged(CodePointSet(), kNfcInert);
  return set;
}

}  // namespace cohort
