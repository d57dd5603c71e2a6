// The methods of strings, lists, tuples, dicts and ranges that a sandboxed template may call.
#pragma once

#include <string_view>

#include "libs/jinja/internal/value.h"

namespace cohort::jinja {

/// The method bound to `value`; Missing for what is no method, or one that the sandbox forbids because it
/// changes its object or leads to the interpreter's internals. Throws TemplateError naming a method that
/// Python has and this engine lacks.
Value find_method(const Value& value, std::string_view name);

/// Whether dict.name is something else than the entry `name` in Python, so that the entry is not found.
bool hides_key(std::string_view name);

}  // namespace cohort::jinja
