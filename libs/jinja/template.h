// A Jinja template as chat templates use it: what Jinja2's ImmutableSandboxedEnvironment does with it under
// the settings of transformers, within budgets. A template reaches nothing but the variables that it is
// given. With python_text.h the only door to this library.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "libs/common/json_value.h"

namespace cohort::jinja {

/// The failure of a template: it can't be parsed, it refuses its input, or it ran out of its budget. One line
/// that says what the template did.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What one rendering may use.
struct Limits {
  int64_t steps = 1'000'000;  ///< evaluated expressions and statements, and 64 bytes of text looked through
  int64_t bytes = 64 << 20;   ///< made by the template in all, freed or not
  int64_t output_bytes = 8 << 20;  ///< of the rendered text
  int depth = 1000;                ///< nested evaluations
};

struct RenderOptions {
  std::tm now{};  ///< what strftime_now tells
  Limits limits;
};

/// The code points of the output that a {% generation %} block wrote.
struct GeneratedSpan {
  int64_t start;
  int64_t end;
};

struct Rendered {
  std::string text;
  std::vector<GeneratedSpan> generated;  ///< of {% generation %} blocks, as they ended
};

struct Tree;

/// Immutable; any number of threads may use one object.
class Template {
 public:
  /// Throws TemplateError naming the line for what is no template or asks for what this engine lacks.
  explicit Template(std::string_view source);

  /// `variables`: an object; integers may be long ones (libs/common/long_integers.h). Throws TemplateError
  /// when the template refuses or runs out of its budget.
  Rendered render(const Json& variables, const RenderOptions& options) const;

  /// Whether there are {% generation %} blocks.
  bool marks_generations() const;

  /// Whether a {% for %} runs over a value named `content`, such as message.content, or a filter of it.
  bool loops_over_content() const;

 private:
  std::shared_ptr<const Tree> tree_;
};

}  // namespace cohort::jinja
