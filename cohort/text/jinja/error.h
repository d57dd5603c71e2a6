// The failure of a template: it can't be parsed, it refuses its input, or it ran out of its budget.
#pragma once

#include "cohort/core/error.h"

namespace cohort::jinja {

/// One line that says what the template did; programs report it beside the conversation that caused it.
class TemplateError : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace cohort::jinja
