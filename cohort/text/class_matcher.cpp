#include "cohort/text/class_matcher.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cohort/core/error.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {

/// One search through one text.
class ClassMatcher::Search {
 public:
  Search(const ClassMatcher& matcher, std::string_view text)
      : matcher_(matcher),
        text_(text),
        max_steps_(1'000'000 + 200 * static_cast<uint64_t>(text.size())),
        barren_until_(matcher.alternatives_.size(), 0) {}

  /// The end of the match that begins at `begin`; nothing where none does.
  std::optional<size_t> match(size_t begin) {
    const uint32_t first = mask_at(begin);
    if ((first & matcher_.first_mask_) == 0) return std::nullopt;
    for (size_t i = 0; i < matcher_.alternatives_.size(); ++i) {
      if ((first & matcher_.first_masks_[i]) == 0 || begin < barren_until_[i]) continue;
      const Sequence& sequence = matcher_.alternatives_[i];
      const size_t end = match_from(sequence, 0, begin, nullptr);
      if (end != kNone) return end;
      // Beginning later in the run would only leave out ends that were tried.
      const Item& item = sequence[0];
      if (item.kind == Kind::kClass && item.max == kUnbounded && item.min <= 1)
        barren_until_[i] = run_end(item.bit, begin, kUnbounded).first;
    }
    return std::nullopt;
  }

  uint64_t steps() const { return steps_; }

  static constexpr uint32_t kUnbounded = ~uint32_t{0};

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  /// What follows a group.
  struct Continuation {
    const Sequence* sequence;
    size_t index;
    const Continuation* next;
  };

  uint32_t mask_at(size_t pos) const {
    const auto byte = static_cast<uint8_t>(text_[pos]);
    return byte < 0x80 ? matcher_.ascii_masks_[byte] : matcher_.mask(next_code_point(text_, pos));
  }

  /// Where a run of at most `max` characters of a class ends, and how many they are.
  std::pair<size_t, uint32_t> run_end(uint32_t bit, size_t pos, uint32_t max) {
    uint32_t count = 0;
    for (; count < max && pos < text_.size(); ++count) {
      const auto byte = static_cast<uint8_t>(text_[pos]);
      if (byte < 0x80) {
        if ((matcher_.ascii_masks_[byte] & bit) == 0) break;
        ++pos;
      } else {
        size_t next = pos;
        if ((matcher_.mask(next_code_point(text_, next)) & bit) == 0) break;
        pos = next;
      }
    }
    count_steps(count + 1);
    return {pos, count};
  }

  void count_steps(uint64_t count) {
    steps_ += count;
    if (steps_ > max_steps_) {
      throw UserError(str("the pre-tokenizer's regular expression gave up on a text of ", text_.size(),
                          " bytes after ", steps_, " steps"));
    }
  }

  size_t match_from(const Sequence& sequence, size_t index, size_t pos, const Continuation* next) {
    for (; index < sequence.size(); ++index) {
      const Item& item = sequence[index];
      switch (item.kind) {
        case Kind::kClass: {
          const auto [end, count] = run_end(item.bit, pos, item.max);
          if (count < item.min) return kNone;
          const bool is_last = index + 1 == sequence.size() && next == nullptr;
          if (!is_last && !item.possessive && count > item.min)
            return give_back(sequence, index, end, count - item.min, next);
          pos = end;
          break;
        }
        case Kind::kGroup:
          return match_group(sequence, index, pos, next);
        case Kind::kAhead:
          if (pos == text_.size() || (mask_at(pos) & item.bit) == 0) return kNone;
          break;
        case Kind::kNotAhead:
          if (pos < text_.size() && (mask_at(pos) & item.bit) != 0) return kNone;
          break;
        case Kind::kLineEnd:
          if (pos < text_.size() && text_[pos] != '\n') return kNone;
          break;
        case Kind::kTextEnd:
          if (pos < text_.size()) return kNone;
      }
    }
    return next == nullptr ? pos : match_from(*next->sequence, next->index, pos, next->next);
  }

  /// Tries what follows a run that ends at `end`, then at up to `count` characters before.
  size_t give_back(const Sequence& sequence, size_t index, size_t end, uint32_t count,
                   const Continuation* next) {
    for (;; --count) {
      count_steps(1);
      const size_t matched = match_from(sequence, index + 1, end, next);
      if (matched != kNone || count == 0) return matched;
      do --end;
      while ((static_cast<uint8_t>(text_[end]) & 0xC0) == 0x80);
    }
  }

  size_t match_group(const Sequence& sequence, size_t index, size_t pos, const Continuation* next) {
    const Item& item = sequence[index];
    const Continuation rest{&sequence, index + 1, next};
    for (const Sequence& alternative : item.alternatives) {
      const size_t matched = match_from(alternative, 0, pos, &rest);
      if (matched != kNone) return matched;
    }
    return item.min == 0 ? match_from(sequence, index + 1, pos, next) : kNone;
  }

  const ClassMatcher& matcher_;
  std::string_view text_;
  uint64_t steps_ = 0;
  uint64_t max_steps_;
  std::vector<size_t> barren_until_;  // by alternative: none begins before
};

uint64_t ClassMatcher::find_all(std::string_view text, std::vector<TextSpan>& spans) const {
  Search search(*this, text);
  size_t covered = 0;
  for (size_t pos = 0; pos < text.size();) {
    const std::optional<size_t> end = search.match(pos);
    if (!end) {
      next_code_point(text, pos);
      continue;
    }
    if (pos > covered) spans.push_back({covered, pos, false});
    spans.push_back({pos, *end, true});
    covered = pos = *end;
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
  return search.steps() + text.size();
}

void ClassMatcher::fill_table(const std::vector<CodePointSet>& classes) {
  std::map<char32_t, uint32_t> toggles;  // classes that begin or end at a code point
  for (size_t i = 0; i < classes.size(); ++i) {
    for (const CodePointRange& range : classes[i].ranges()) {
      toggles[range.first] ^= uint32_t{1} << i;
      toggles[range.last + 1] ^= uint32_t{1} << i;
    }
  }
  std::map<std::vector<uint32_t>, uint16_t> known;
  std::vector<uint32_t> block(kBlock);
  uint32_t mask = 0;
  auto next = toggles.begin();
  for (char32_t begin = 0; begin <= kMaxCodePoint; begin += kBlock) {
    const bool uniform = next == toggles.end() || next->first >= begin + kBlock;
    if (uniform && !block_of_.empty() &&
        std::all_of(block.begin(), block.end(), [&](uint32_t m) { return m == mask; })) {
      block_of_.push_back(block_of_.back());
      continue;
    }
    for (char32_t i = 0; i < kBlock; ++i) {
      if (next != toggles.end() && next->first == begin + i) mask ^= (next++)->second;
      block[i] = mask;
    }
    const auto [it, is_new] = known.emplace(block, static_cast<uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    block_of_.push_back(it->second);
  }
  std::copy_n(blocks_.begin() + static_cast<ptrdiff_t>(block_of_[0] * kBlock), ascii_masks_.size(),
              ascii_masks_.begin());
}

}  // namespace cohort
