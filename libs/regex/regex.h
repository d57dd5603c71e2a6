// A compiled PCRE2 pattern (with its just-in-time compiler where there is one) that finds all matches in a
// text.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "libs/common/text_span.h"

struct pcre2_real_code_8;

namespace cohort {

/// A pattern that does not compile, or a search that passes the engine's limits on time or memory.
class RegexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Immutable; any number of threads may use one object.
class Regex {
 public:
  /// `pattern` is in PCRE2's syntax. Throws RegexError when it does not compile.
  explicit Regex(const std::string& pattern);

  /// Appends well-formed UTF-8 cut into matches and gaps, in order, empty matches included as Hugging Face's
  /// do. Throws RegexError when the engine's limits end the search.
  void find_all(std::string_view text, std::vector<TextSpan>& spans) const;

  /// Whether there is a match; throws as `find_all` does.
  bool is_match(std::string_view text) const;

 private:
  class MatchDataPool;

  std::shared_ptr<const pcre2_real_code_8> code_;
  bool compiled_ = false;  // to machine code
  std::shared_ptr<MatchDataPool> pool_;
};

}  // namespace cohort
