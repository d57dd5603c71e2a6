// JSON of untrusted model files: an object, no key twice, no deep nesting.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cohort {

/// Parses a JSON object of at most 16 levels. Throws FormatError that begins with `where` and names the byte
/// or key.
nlohmann::json parse_strict_object(std::string_view text, const std::string& where);

}  // namespace cohort
