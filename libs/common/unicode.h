// Sets of code points with the meaning that Hugging Face's tokenizers gives them. The tables come from the
// behaviour of that library (tools/make_golden/unicode_tables.py), since the Unicode version of PCRE2 or
// utf8proc differs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace cohort {

constexpr char32_t kMaxCodePoint = 0x10FFFF;

struct CodePointRange {
  char32_t first;
  char32_t last;  ///< inclusive
};

/// An immutable set of code points.
class CodePointSet {
 public:
  CodePointSet() = default;

  /// Any ranges: overlaps and disorder are fine.
  explicit CodePointSet(std::vector<CodePointRange> ranges);

  bool contains(char32_t code_point) const;
  CodePointSet complement() const;
  CodePointSet intersected(const CodePointSet& other) const;

  /// Sorted, disjoint, not adjacent.
  const std::vector<CodePointRange>& ranges() const { return ranges_; }

 private:
  std::vector<CodePointRange> ranges_;
};

/// The code points of a general category, by its short name of one or two letters ("L", "Nd"), as a regular
/// expression's \p{...} matches them; nothing for another name.
std::optional<CodePointSet> general_category(std::string_view name);

/// The code points of a script ("Han", "Hiragana", "Katakana", "Hangul") as \p{...} matches them; nothing for
/// another name.
std::optional<CodePointSet> script(std::string_view name);

/// \s in regular expressions and around added tokens.
const CodePointSet& white_space();

/// What the Digits pre-tokenizer calls numeric.
const CodePointSet& numeric();

/// \w at the edges of single_word added tokens.
const CodePointSet& word_characters();

/// What the Punctuation pre-tokenizer calls punctuation.
const CodePointSet& punctuation();

/// What the StripAccents normalizer removes.
const CodePointSet& combining_marks();

/// The lower-case form, `c` itself where it has none; U+0130 alone has two code points: it gives the first,
/// 'i'.
char32_t to_lowercase(char32_t c);

/// Code points whose canonical reordering or composition is younger than HF's tables: NFC leaves them as they
/// are.
const CodePointSet& nfc_inert();

/// Code points whose compatibility decomposition is younger than HF's tables.
const CodePointSet& compat_inert();

}  // namespace cohort
