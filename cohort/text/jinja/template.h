// A Jinja template as chat templates use it: what Jinja2's ImmutableSandboxedEnvironment does with it under
// the settings of transformers, within budgets. A template reaches nothing but the variables that it is
// given.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/text/jinja/interpreter.h"

namespace cohort::jinja {

struct RenderOptions {
  std::tm now{};  ///< what strftime_now tells
  Limits limits;
};

struct Rendered {
  std::string text;
  std::vector<GeneratedSpan> generated;  ///< of {% generation %} blocks, as they ended
};

/// Immutable; any number of threads may use one object.
class Template {
 public:
  /// Throws TemplateError naming the line for what is no template or asks for what this engine lacks.
  explicit Template(std::string_view source);

  /// `variables`: an object. Throws TemplateError when the template refuses or runs out of its budget.
  Rendered render(const Json& variables, const RenderOptions& options) const;

  /// Whether there are {% generation %} blocks.
  bool marks_generations() const { return tree_->has_generation; }

  /// Whether a {% for %} runs over a value named `content`, such as message.content, or a filter of it.
  bool loops_over_content() const { return tree_->loops_over_content; }

 private:
  std::shared_ptr<const Tree> tree_;
};

}  // namespace cohort::jinja
