// From text to a tree of statements and expressions, as Jinja 3.1 parses it with the extensions that
// transformers turns on: loop controls and {% generation %}.
#pragma once

#include <memory>
#include <string_view>

#include "libs/jinja/internal/ast.h"

namespace cohort::jinja {

/// Throws TemplateError naming the line for what is no template, or uses a tag, filter or test that this
/// engine does not have.
std::unique_ptr<const Tree> parse(std::string_view source);

}  // namespace cohort::jinja
