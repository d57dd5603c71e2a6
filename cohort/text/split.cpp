#include "cohort/text/split.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"
#include "cohort/text/class_matcher.h"
#include "cohort/text/regex_translate.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/regex/regex.h"

namespace cohort {
namespace {

class RegexPattern : public Pattern {
 public:
  explicit RegexPattern(Regex regex) : regex_(std::move(regex)) {}
  void find_all(std::string_view text, std::vector<TextSpan>& spans) const override {
    try {
      regex_.find_all(text, spans);
    } catch (const RegexError& error) {
      throw UserError(error.what());
    }
  }

 private:
  Regex regex_;
};

class MatcherPattern : public Pattern {
 public:
  explicit MatcherPattern(std::shared_ptr<const ClassMatcher> matcher) : matcher_(std::move(matcher)) {}
  void find_all(std::string_view text, std::vector<TextSpan>& spans) const override {
    matcher_->find_all(text, spans);
  }

 private:
  std::shared_ptr<const ClassMatcher> matcher_;
};

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}
  void find_all(std::string_view text, std::vector<TextSpan>& spans) const override {
    size_t covered = 0;
    for (size_t pos; (pos = text.find(literal_, covered)) != std::string_view::npos;) {
      if (pos > covered) spans.push_back({covered, pos, false});
      covered = pos + literal_.size();
      spans.push_back({pos, covered, true});
    }
    if (covered < text.size()) spans.push_back({covered, text.size(), false});
  }

 private:
  std::string literal_;
};

class CodePointPattern : public Pattern {
 public:
  explicit CodePointPattern(const CodePointSet& set) : set_(&set) {}
  void find_all(std::string_view text, std::vector<TextSpan>& spans) const override {
    size_t covered = 0;
    for (size_t pos = 0; pos < text.size();) {
      const size_t begin = pos;
      if (!set_->contains(next_code_point(text, pos))) continue;
      if (begin > covered) spans.push_back({covered, begin, false});
      spans.push_back({begin, pos, true});
      covered = pos;
    }
    if (covered < text.size()) spans.push_back({covered, text.size(), false});
  }

 private:
  const CodePointSet* set_;
};

Regex compile_regex(const std::string& pattern) {
  try {
    return Regex(pattern);
  } catch (const RegexError& error) {
    throw FormatError(error.what());
  }
}

/// A match whose predecessor is a gap joins it; writes to the front of [first, end) and returns the new end.
template <typename Iterator>
Iterator join_matches_to_predecessor(Iterator first, Iterator end) {
  Iterator out = first;
  bool previous_is_match = false;
  for (Iterator it = first; it != end; ++it) {
    const TextSpan span = *it;
    if (span.is_match && !previous_is_match && out != first) {
      TextSpan& joined = *std::prev(out);
      joined.begin = std::min(joined.begin, span.begin);
      joined.end = std::max(joined.end, span.end);
    } else {
      *out++ = span;
    }
    previous_is_match = span.is_match;
  }
  return out;
}

std::vector<TextSpan>::iterator join_alike(std::vector<TextSpan>::iterator first,
                                           std::vector<TextSpan>::iterator end) {
  auto out = first;
  bool previous_is_match = false;
  for (auto it = first; it != end; ++it) {
    const TextSpan span = *it;
    if (span.is_match == previous_is_match && out != first) {
      std::prev(out)->end = span.end;
    } else {
      *out++ = span;
    }
    previous_is_match = span.is_match;
  }
  return out;
}

}  // namespace

PatternPtr parse_pattern(const TokenizerJson& pattern, const std::string& where) {
  if (!field(pattern, "Regex", where + ": \"pattern\"").is_null()) {
    return regex_pattern(string_field(pattern, "Regex", where));
  }
  const std::string literal = string_field(pattern, "String", where);
  if (literal.empty()) return regex_pattern("");
  return literal_pattern(literal);
}

PatternPtr code_point_pattern(const CodePointSet& set) { return std::make_shared<CodePointPattern>(set); }

PatternPtr regex_pattern(const std::string& regex) { return translated_pattern(translate_pattern(regex)); }

PatternPtr translated_pattern(const std::string& regex) {
  if (auto matcher = ClassMatcher::compile(regex))
    return std::make_shared<MatcherPattern>(std::move(matcher));
  return std::make_shared<RegexPattern>(compile_regex(regex));
}

PatternPtr literal_pattern(std::string literal) {
  return std::make_shared<LiteralPattern>(std::move(literal));
}

SplitBehavior parse_behavior(const std::string& name, const std::string& where) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  throw FormatError(str(where, ": unknown behavior ", quoted_name(name)));
}

void apply_behavior(std::vector<TextSpan>& spans, size_t first, SplitBehavior behavior) {
  const auto begin = spans.begin() + static_cast<ptrdiff_t>(first);
  auto end = spans.end();
  switch (behavior) {
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kRemoved:
      end = std::remove_if(begin, end, [](const TextSpan& span) { return span.is_match; });
      break;
    case SplitBehavior::kMergedWithPrevious:
      end = join_matches_to_predecessor(begin, end);
      break;
    case SplitBehavior::kMergedWithNext: {
      std::reverse(begin, end);
      end = join_matches_to_predecessor(begin, end);
      std::reverse(begin, end);
      break;
    }
    case SplitBehavior::kContiguous:
      end = join_alike(begin, end);
      break;
  }
  end = std::remove_if(begin, end, [](const TextSpan& span) { return span.begin == span.end; });
  spans.erase(end, spans.end());
}

}  // namespace cohort
