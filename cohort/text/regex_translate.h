// Hugging Face's tokenizers match with Oniguruma, Cohort with PCRE2: this rewrites the one's patterns for the
// other.
#pragma once

#include <string>
#include <string_view>

#include "libs/common/unicode.h"

namespace cohort {

/// The PCRE2 pattern (for PCRE2_UTF | PCRE2_MULTILINE) that matches as `pattern` does under Oniguruma's Ruby
/// syntax. Character classes become explicit ranges. Throws FormatError for a construct whose meaning might
/// differ.
std::string translate_pattern(std::string_view pattern);

/// A PCRE2 class that matches one code point of `set`.
std::string class_pattern(const CodePointSet& set);

}  // namespace cohort
