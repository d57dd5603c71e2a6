// The functions that every chat template sees.
#pragma once

#include <string_view>

#include "libs/jinja/internal/runtime.h"

namespace cohort::jinja {

/// Missing when there is none of that name.
Value find_global(std::string_view name);

/// {% set names.name = value %}. Throws TemplateError for a name that begins with an underscore.
void set_namespace_attribute(Runtime& runtime, Namespace& names, const std::string& name, const Value& value);

}  // namespace cohort::jinja
