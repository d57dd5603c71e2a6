// Regular expressions of JSON Schema, which are ECMA-262's, on PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace cohort::json_schema {

/// `pattern` for cohort::Regex: ^ and $ match at the ends of the text alone, \u escapes and brackets mean
/// what they mean in ECMA-262, and a search gives up early. What PCRE2 has and ECMA-262 has not stays as it
/// is.
std::string to_pcre2(std::string_view pattern);

}  // namespace cohort::json_schema
