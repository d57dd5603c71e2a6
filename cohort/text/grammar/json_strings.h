// Strings of JSON as paths of a grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/text/grammar/grammar.h"

namespace cohort {

/// The characters of a string that the schema's length counts, written raw or as an escape.
struct StringLimits {
  int64_t least = 0;
  std::optional<int64_t> most{};
};

/// One code point of `set` within quotes: raw, or as an escape where JSON needs one.
void add_string_character(Grammar& grammar, Grammar::State from, const CodePointSet& set, Grammar::State to);

/// A whole string with its quotes. Throws UserError for limits beyond 5,000 characters.
void add_string_of_length(Grammar& grammar, Grammar::State from, const StringLimits& limits,
                          Grammar::State to);

/// A whole string in which `pattern` is found.
void add_string_of_pattern(Grammar& grammar, Grammar::State from, const std::string& pattern,
                           Grammar::State to);

/// Any string, without escapes, but these.
void add_string_unlike(Grammar& grammar, Grammar::State from, const std::vector<std::string>& names,
                       Grammar::State to);

/// The regular expression of a "format"; null for one that is only an annotation here.
const char* pattern_of_format(const std::string& format);

}  // namespace cohort
