// A compiled PCRE2 pattern (with its just-in-time compiler where there is one) that finds all matches in a
// text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace cohort {

/// A piece of a text, in bytes; `is_match` tells a match from what lies between matches.
struct TextSpan {
  size_t begin;
  size_t end;
  bool is_match;
};

/// Immutable; any number of threads may use one object.
class Regex {
 public:
  /// `pattern` is in PCRE2's syntax. Throws FormatError when it does not compile.
  explicit Regex(const std::string& pattern);

  /// Cuts well-formed UTF-8 into matches and gaps, in order, empty matches included as Hugging Face's do.
  /// Throws UserError when the engine's limits on time or memory end the search.
  std::vector<TextSpan> find_all(std::string_view text) const;

 private:
  std::shared_ptr<const pcre2_real_code_8> code_;
};

}  // namespace cohort
