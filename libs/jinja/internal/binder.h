// Binds every name of a parsed template to a variable.
#pragma once

#include "libs/jinja/internal/ast.h"

namespace cohort::jinja {

/// Throws TemplateError naming the line of a filter or test that does not exist, and for an assignment to
/// `loop` inside a loop.
void bind_names(Tree& tree);

}  // namespace cohort::jinja
