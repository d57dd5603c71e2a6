#include "cohort/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace cohort {
namespace {

#include "cohort/text/unicode_tables.inc"

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

std::optional<CodePointSet> general_category(std::string_view name) {
  const bool known =
      std::any_of(std::begin(kCategories), std::end(kCategories), [&](std::string_view category) {
        return category == name || (name.size() == 1 && category[0] == name[0]);
      });
  if (!known) return std::nullopt;
  return categories_where([&](std::string_view category) { return category.starts_with(name); });
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

const CodePointSet& nfc_inert() {
  static const CodePointSet set = merged(CodePointSet(), kNfcInert);
  return set;
}

}  // namespace cohort
