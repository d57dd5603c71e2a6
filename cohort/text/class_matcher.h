// The regular expressions that pre-tokenizers have in practice, matched directly: alternatives of runs of
// characters, with classes looked up in a table. Whatever the text, failed runs are not tried again from
// within, which keeps patterns such as \s+$ linear.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cohort/text/aligned_text.h"
#include "libs/common/unicode.h"

namespace cohort {

/// Immutable; any number of threads may use one object.
class ClassMatcher {
 public:
  enum class Kind : uint8_t { kClass, kGroup, kAhead, kNotAhead, kLineEnd, kTextEnd };

  struct Item;
  using Sequence = std::vector<Item>;

  struct Item {
    Kind kind;
    uint32_t bit = 0;  ///< of the class
    uint32_t min = 1;
    uint32_t max = 1;
    bool possessive = false;             ///< gives nothing back
    std::vector<Sequence> alternatives;  ///< of a group, which stands min times or once
  };

  /// `pattern` is what translate_pattern() gives. Null where it holds anything but greedy or possessive runs
  /// of classes, groups that stand at most once, one character ahead, and ends; or where it matches the empty
  /// text.
  static std::shared_ptr<const ClassMatcher> compile(std::string_view pattern);

  /// Appends matches and gaps, in order, which cover well-formed `text`. Returns the steps taken. Throws
  /// UserError where they exceed a bound linear in the text.
  uint64_t find_all(std::string_view text, std::vector<TextSpan>& spans) const;

 private:
  class Search;
  friend class ClassMatcherCompiler;

  static constexpr size_t kBlock = 128;

  uint32_t mask(char32_t c) const { return blocks_[block_of_[c / kBlock] * kBlock + c % kBlock]; }
  void fill_table(const std::vector<CodePointSet>& classes);

  std::vector<Sequence> alternatives_;
  std::vector<uint32_t> first_masks_;  // classes that an alternative may begin with
  uint32_t first_mask_ = 0;            // that any may begin with
  std::array<uint32_t, 128> ascii_masks_{};
  std::vector<uint16_t> block_of_;  // by code point / kBlock
  std::vector<uint32_t> blocks_;    // different ones only
};

}  // namespace cohort
