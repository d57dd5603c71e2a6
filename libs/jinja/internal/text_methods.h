// The methods of strings.
#pragma once

#include <string_view>

#include "libs/jinja/internal/callable.h"

namespace cohort::jinja {

/// Null for what is no method of str. Throws TemplateError naming a method that this engine lacks.
NativeMethod find_text_method(std::string_view name);

/// text.format(...), for replacement fields without format specifications.
Value format_braces(Runtime& runtime, const Value& self, const Arguments& arguments);

}  // namespace cohort::jinja
