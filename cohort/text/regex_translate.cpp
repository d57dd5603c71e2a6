#include "cohort/text/regex_translate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/text/component.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

bool is_ascii_alnum(char32_t c) { return c < 0x80 && std::isalnum(static_cast<int>(c)); }

std::string hex(char32_t c) {
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<uint32_t>(c), 16).ptr;
  return "\\x{" + std::string(digits, end) + "}";
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (!at_end()) item();
    if (caseless_.size() != 1) fail("a group without its ')'");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(str("regular expression ", quoted_name(std::string(pattern_)), ": ", what,
                          " is not supported (byte ", pos_, ")"));
  }

  bool at_end() const { return pos_ == pattern_.size(); }
  bool next_is(char c) const { return !at_end() && pattern_[pos_] == c; }
  bool accept(std::string_view text) {
    if (!pattern_.substr(pos_).starts_with(text)) return false;
    pos_ += text.size();
    return true;
  }
  char32_t take() {
    if (at_end()) fail("a pattern that ends here");
    return next_code_point(pattern_, pos_);
  }
  bool caseless() const { return caseless_.back(); }

  void item() {
    if (!is_ascii_alnum(pattern_[pos_])) {
      if (special()) {
        previous_literal_ = 0;
        return;
      }
    }
    literal(next_is('\\') ? escaped_literal() : take());
  }

  /// Everything but literals; false when a literal follows.
  bool special() {
    switch (pattern_[pos_]) {
      case '(':
        open_group();
        return true;
      case ')':
        if (caseless_.size() == 1) fail("')' without a group");
        caseless_.pop_back();
        break;
      case '[':
        ++pos_;
        character_class();
        return true;
      case '\\':
        return escaped_set_or_anchor();
      case '*':
      case '+':
      case '?':
        quantifier();
        return true;
      case '{':
        return counted_quantifier();
      case '.':
      case '^':
      case '$':
      case '|':
        break;
      default:
        return false;
    }
    out_ += pattern_[pos_++];
    return true;
  }

  void open_group() {
    ++pos_;
    bool group_caseless = caseless();
    std::string_view opening = "(?:";
    if (next_is('?')) {
      constexpr std::array<std::string_view, 6> kKinds = {"?:", "?=", "?!", "?>", "?<=", "?<!"};
      const auto kind =
          std::find_if(kKinds.begin(), kKinds.end(), [&](std::string_view k) { return accept(k); });
      if (kind != kKinds.end()) {
        opening = *kind;
        out_ += '(';
      } else if (accept("?i:")) {
        group_caseless = true;
        opening = "(?i:";
      } else {
        fail("this kind of group");
      }
    }
    out_ += opening;
    caseless_.push_back(group_caseless);
  }

  void quantifier() {
    out_ += pattern_[pos_++];
    if (next_is('?') || next_is('+')) out_ += pattern_[pos_++];
    forbid_quantifier();
  }

  /// {n}, {n,}, {n,m}; any other brace is a literal to both engines, except {,m}.
  bool counted_quantifier() {
    size_t end = pos_ + 1;
    const auto skip_digits = [&] {
      const size_t start = end;
      while (end < pattern_.size() && std::isdigit(static_cast<unsigned char>(pattern_[end]))) ++end;
      return end > start;
    };
    const bool has_min = skip_digits();
    const bool has_comma = end < pattern_.size() && pattern_[end] == ',';
    if (has_comma) ++end;
    const bool has_max = has_comma && skip_digits();
    if (end == pattern_.size() || pattern_[end] != '}' || (!has_min && !has_max)) return false;
    if (!has_min) fail("{,m}");
    out_ += pattern_.substr(pos_, end + 1 - pos_);
    pos_ = end + 1;
    // {n}? and {n,m}+ mean something else in Ruby than in Perl.
    if (has_comma && next_is('?')) out_ += pattern_[pos_++];
    forbid_quantifier();
    return true;
  }

  void forbid_quantifier() const {
    if (next_is('*') || next_is('+') || next_is('?')) fail("a quantifier behind this quantifier");
  }

  void literal(char32_t c) {
    if (caseless()) check_caseless(c);
    previous_literal_ = c;
    out_ += is_ascii_alnum(c) ? std::string(1, static_cast<char>(c)) : hex(c);
  }

  /// Oniguruma folds "ss" with sharp s and the f and s ligatures with their letters; PCRE2 does not.
  void check_caseless(char32_t c) const {
    if (c >= 0x80) fail("a character beyond ASCII in (?i:...)");
    const std::string pair = {static_cast<char>(std::tolower(static_cast<int>(previous_literal_))),
                              static_cast<char>(std::tolower(static_cast<int>(c)))};
    for (const char* folded : {"ss", "ff", "fi", "fl", "st"}) {
      if (pair == folded) fail(str("\"", folded, "\" in (?i:...)"));
    }
  }

  /// \s \d \p{..} and their negations, \A, \z; false when the escape is a literal.
  bool escaped_set_or_anchor() {
    if (accept("\\A")) {
      out_ += "\\A";
    } else if (accept("\\z")) {
      out_ += "\\z";
    } else if (const std::optional<CodePointSet> set = escaped_set()) {
      out_ += class_pattern(*set);
    } else {
      return false;
    }
    return true;
  }

  std::optional<CodePointSet> escaped_set() {
    if (accept("\\s")) return white_space();
    if (accept("\\S")) return white_space().complement();
    if (accept("\\d")) return general_category("Nd");
    if (accept("\\D")) return general_category("Nd")->complement();
    bool negated = pattern_.substr(pos_).starts_with("\\P");
    if (!accept("\\p{") && !accept("\\P{")) return std::nullopt;
    if (caseless()) fail("\\p{...} in (?i:...)");
    if (accept("^")) negated = !negated;
    const size_t close = pattern_.find('}', pos_);
    if (close == std::string_view::npos) fail("\\p{ without '}'");
    const std::string_view name = pattern_.substr(pos_, close - pos_);
    std::optional<CodePointSet> set = general_category(name);
    if (!set) set = script(name);
    if (!set) fail("the property " + quoted_name(std::string(name)));
    pos_ = close + 1;
    return negated ? set->complement() : *set;
  }

  char32_t escaped_literal() {
    ++pos_;
    const char32_t c = take();
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'x':
        return accept("{") ? hex_digits(1, 6, "}") : hex_digits(2, 2, "");
      case 'u':
        return hex_digits(4, 4, "");
      default:
        if (c >= 0x80 || is_ascii_alnum(c)) fail("this escape");
        return c;
    }
  }

  char32_t hex_digits(size_t min, size_t max, std::string_view closing) {
    const std::string_view digits = pattern_.substr(pos_, max);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const auto count = static_cast<size_t>(end - digits.data());
    if (error != std::errc() || count < min) fail("this escape");
    pos_ += count;
    if (!accept(closing) || value > kMaxCodePoint || (value >= 0xD800 && value < 0xE000)) fail("this escape");
    return value;
  }

  /// Behind the '['.
  void character_class() {
    const bool negated = next_is('^');
    const CodePointSet set = class_set(0);
    if (caseless() && (negated || set.ranges().empty() || set.ranges().back().last >= 0x80))
      fail("this class in (?i:...)");
    out_ += class_pattern(set);
  }

  /// Behind a '[', to behind its ']': members and classes within, which && intersects.
  CodePointSet class_set(int depth) {
    constexpr int kMaxDepth = 8;
    if (depth > kMaxDepth) fail("so many classes within classes");
    const bool negated = accept("^");
    if (next_is(']')) fail("an empty class");
    std::optional<CodePointSet> intersection;
    std::vector<CodePointRange> ranges;
    const auto intersect = [&] {
      if (ranges.empty()) fail("an intersection with nothing");
      CodePointSet set(std::move(ranges));
      ranges.clear();
      intersection = intersection ? intersection->intersected(set) : set;
    };
    while (!accept("]")) {
      if (accept("&&")) {
        intersect();
      } else if (pattern_.substr(pos_).starts_with("[:")) {
        fail("a POSIX bracket");
      } else if (accept("[")) {
        const CodePointSet set = class_set(depth + 1);
        ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
      } else {
        class_member(ranges);
      }
    }
    intersect();
    return negated ? intersection->complement() : *intersection;
  }

  void class_member(std::vector<CodePointRange>& ranges) {
    if (const std::optional<CodePointSet> set = escaped_set()) {
      ranges.insert(ranges.end(), set->ranges().begin(), set->ranges().end());
      if (next_is('-') && !pattern_.substr(pos_).starts_with("-]")) fail("'-' behind a set");
      return;
    }
    const char32_t first = next_is('\\') ? escaped_literal() : take();
    char32_t last = first;
    if (next_is('-') && !pattern_.substr(pos_).starts_with("-]")) {
      ++pos_;
      if (next_is('[') || escaped_set()) fail("this range");
      last = next_is('\\') ? escaped_literal() : take();
      if (last < first) fail("a range in reverse");
    }
    ranges.push_back({first, last});
  }

  std::string_view pattern_;
  size_t pos_ = 0;
  std::string out_;
  std::vector<bool> caseless_ = {false};  // per open group, outermost first
  char32_t previous_literal_ = 0;         // 0 unless a literal stands directly before
};

}  // namespace

std::string translate_pattern(std::string_view pattern) { return Translator(pattern).run(); }

std::string class_pattern(const CodePointSet& set) {
  std::string out = "[";
  const auto append = [&](char32_t first, char32_t last) {
    if (first > last) return;
    out += hex(first);
    if (last > first) out += "-" + hex(last);
  };
  for (const CodePointRange& range : set.ranges()) {
    // PCRE2 refuses surrogates, which well-formed text never has.
    append(range.first, std::min<char32_t>(range.last, 0xD7FF));
    append(std::max<char32_t>(range.first, 0xE000), range.last);
  }
  return out == "[" ? "(?!)" : out + "]";
}

}  // namespace cohort
