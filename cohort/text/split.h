// Cutting a text at matches of a pattern: the patterns of pre-tokenizers and normalizers, and what becomes of
// the matches.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/aligned_text.h"
#include "cohort/text/component.h"
#include "libs/common/unicode.h"

namespace cohort {

/// Finds all matches in a text. Immutable; any number of threads may use one object.
class Pattern {
 public:
  virtual ~Pattern() = default;

  /// Appends matches and gaps, in order, which cover well-formed `text`; empty matches are among them.
  virtual void find_all(std::string_view text, std::vector<TextSpan>& spans) const = 0;
};

using PatternPtr = std::shared_ptr<const Pattern>;

/// {"Regex": "..."} or {"String": "..."}. Throws FormatError naming `where` and what is not supported.
PatternPtr parse_pattern(const TokenizerJson& pattern, const std::string& where);

/// Every single code point of `set`, which must outlive the pattern.
PatternPtr code_point_pattern(const CodePointSet& set);

/// A regular expression in Oniguruma's syntax.
PatternPtr regex_pattern(const std::string& regex);

/// A regular expression in PCRE2's syntax.
PatternPtr translated_pattern(const std::string& regex);

/// A text, not empty, that is looked for as it is.
PatternPtr literal_pattern(std::string literal);

/// What becomes of a match (a delimiter) and of the gaps beside it.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Reads one of Hugging Face's names. Throws FormatError naming `where`.
SplitBehavior parse_behavior(const std::string& name, const std::string& where);

/// Joins or drops neighbouring spans, from number `first` on, as `behavior` says; none is empty afterwards.
void apply_behavior(std::vector<TextSpan>& spans, size_t first, SplitBehavior behavior);

}  // namespace cohort
