// Reading the pattern of a ClassMatcher.
#include <algorithm>
#include <charconv>
#include <optional>

#include "cohort/text/class_matcher.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr uint32_t kUnbounded = ~uint32_t{0};
constexpr size_t kMaxClasses = 32;
constexpr int kMaxItems = 256;  // which bounds the depth of a match, too

bool is_ascii_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

/// A parser by descent of the few constructs; every function says false for any other.
class ClassMatcherCompiler {
 public:
  explicit ClassMatcherCompiler(std::string_view pattern) : pattern_(pattern) {}

  std::shared_ptr<const ClassMatcher> run() {
    const auto matcher = std::make_shared<ClassMatcher>();
    if (!alternatives(matcher->alternatives_, false) || pos_ != pattern_.size()) return nullptr;
    for (const ClassMatcher::Sequence& sequence : matcher->alternatives_) {
      if (is_nullable(sequence)) return nullptr;
      matcher->first_masks_.push_back(first_mask(sequence));
      matcher->first_mask_ |= matcher->first_masks_.back();
    }
    matcher->fill_table(classes_);
    return matcher;
  }

 private:
  using Item = ClassMatcher::Item;
  using Kind = ClassMatcher::Kind;
  using Sequence = ClassMatcher::Sequence;

  bool accept(std::string_view text) {
    if (!pattern_.substr(pos_).starts_with(text)) return false;
    pos_ += text.size();
    return true;
  }

  bool alternatives(std::vector<Sequence>& out, bool caseless) {
    do {
      out.emplace_back();
      while (pos_ < pattern_.size() && pattern_[pos_] != '|' && pattern_[pos_] != ')') {
        if (!item(out.back(), caseless)) return false;
      }
    } while (accept("|"));
    return true;
  }

  bool item(Sequence& out, bool caseless) {
    if (++num_items_ > kMaxItems) return false;
    if (accept("(?!")) return look_ahead(out, Kind::kNotAhead, caseless);
    if (accept("(?=")) return look_ahead(out, Kind::kAhead, caseless);
    if (accept("(?:")) return group(out, caseless);
    if (accept("(?i:")) return group(out, true);
    if (accept("$")) {
      out.push_back({.kind = Kind::kLineEnd, .alternatives = {}});
      return true;
    }
    if (accept("\\z")) {
      out.push_back({.kind = Kind::kTextEnd, .alternatives = {}});
      return true;
    }
    Item item{.kind = Kind::kClass, .alternatives = {}};
    if (!character_class(item.bit, caseless) || !quantifier(item)) return false;
    out.push_back(std::move(item));
    return true;
  }

  bool look_ahead(Sequence& out, Kind kind, bool caseless) {
    Item item{.kind = kind, .alternatives = {}};
    if (!character_class(item.bit, caseless) || !accept(")")) return false;
    out.push_back(std::move(item));
    return true;
  }

  bool group(Sequence& out, bool caseless) {
    Item item{.kind = Kind::kGroup, .alternatives = {}};
    if (!alternatives(item.alternatives, caseless) || !accept(")")) return false;
    if (!quantifier(item) || item.max != 1 || item.possessive) return false;
    out.push_back(std::move(item));
    return true;
  }

  bool quantifier(Item& item) {
    if (accept("*")) {
      item.min = 0;
      item.max = kUnbounded;
    } else if (accept("+")) {
      item.max = kUnbounded;
    } else if (accept("?")) {
      item.min = 0;
    } else if (accept("{")) {
      return counts(item);
    } else {
      return true;
    }
    item.possessive = accept("+");
    return !accept("?");
  }

  bool counts(Item& item) {
    if (!number(item.min)) return false;
    item.max = item.min;
    if (accept(",")) {
      item.max = kUnbounded;
      if (pos_ < pattern_.size() && pattern_[pos_] != '}' && !number(item.max)) return false;
    }
    return accept("}") && item.min <= item.max && item.max > 0 && !accept("?") && !accept("+");
  }

  bool number(uint32_t& value) {
    const char* end = pattern_.data() + pattern_.size();
    const auto [stop, error] = std::from_chars(pattern_.data() + pos_, end, value);
    pos_ = static_cast<size_t>(stop - pattern_.data());
    return error == std::errc() && value < 65536;
  }

  bool character_class(uint32_t& bit, bool caseless) {
    std::vector<CodePointRange> ranges;
    if (accept("[")) {
      while (!accept("]")) {
        CodePointRange range{};
        if (!character(range.first)) return false;
        range.last = range.first;
        if (accept("-") && !character(range.last)) return false;
        ranges.push_back(range);
      }
    } else {
      char32_t c = 0;
      if (!character(c)) return false;
      ranges.push_back({c, c});
    }
    if (caseless) add_cases(ranges);
    return assign_bit(CodePointSet(std::move(ranges)), bit);
  }

  /// \x{2c}, a letter or a digit.
  bool character(char32_t& c) {
    uint32_t value = 0;
    if (accept("\\x{")) {
      const char* end = pattern_.data() + pattern_.size();
      const auto [stop, error] = std::from_chars(pattern_.data() + pos_, end, value, 16);
      pos_ = static_cast<size_t>(stop - pattern_.data());
      c = value;
      return error == std::errc() && accept("}");
    }
    if (pos_ == pattern_.size()) return false;
    c = static_cast<uint8_t>(pattern_[pos_]);
    if (!is_ascii_letter(c) && !(c >= '0' && c <= '9')) return false;
    ++pos_;
    return true;
  }

  /// The other case of ASCII letters; long s and the Kelvin sign are cases, too.
  static void add_cases(std::vector<CodePointRange>& ranges) {
    const CodePointSet set(ranges);
    for (char32_t c = 'A'; c <= 'z'; ++c) {
      if (!is_ascii_letter(c) || !set.contains(c)) continue;
      ranges.push_back({c ^ 0x20, c ^ 0x20});
      if ((c | 0x20) == 's') ranges.push_back({0x17F, 0x17F});
      if ((c | 0x20) == 'k') ranges.push_back({0x212A, 0x212A});
    }
  }

  bool assign_bit(CodePointSet set, uint32_t& bit) {
    const auto same = [&](const CodePointSet& other) {
      return std::equal(set.ranges().begin(), set.ranges().end(), other.ranges().begin(),
                        other.ranges().end(),
                        [](const auto& a, const auto& b) { return a.first == b.first && a.last == b.last; });
    };
    const auto it = std::find_if(classes_.begin(), classes_.end(), same);
    const auto index = static_cast<size_t>(it - classes_.begin());
    if (index == kMaxClasses) return false;
    if (it == classes_.end()) classes_.push_back(std::move(set));
    bit = uint32_t{1} << index;
    return true;
  }

  static bool is_nullable(const Sequence& sequence) {
    return std::all_of(sequence.begin(), sequence.end(), [](const Item& item) {
      const bool nullable_group =
          std::any_of(item.alternatives.begin(), item.alternatives.end(), is_nullable);
      return item.min == 0 || (item.kind != Kind::kClass && (item.kind != Kind::kGroup || nullable_group));
    });
  }

  static uint32_t first_mask(const Sequence& sequence) {
    uint32_t mask = 0;
    for (const Item& item : sequence) {
      if (item.kind == Kind::kClass) mask |= item.bit;
      for (const Sequence& alternative : item.alternatives) mask |= first_mask(alternative);
      if (!is_nullable({item})) break;
    }
    return mask;
  }

  std::string_view pattern_;
  size_t pos_ = 0;
  int num_items_ = 0;
  std::vector<CodePointSet> classes_;
};

std::shared_ptr<const ClassMatcher> ClassMatcher::compile(std::string_view pattern) {
  return ClassMatcherCompiler(pattern).run();
}

}  // namespace cohort
