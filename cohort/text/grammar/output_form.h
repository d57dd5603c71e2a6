// Forms that a text can be held to, as vLLM's `structured_outputs` names them.
#pragma once

#include <functional>
#include <string>

#include "cohort/core/json.h"
#include "cohort/text/grammar/grammar.h"

namespace cohort {

struct OutputForm {
  std::string key{};  ///< equal for equal forms

  /// Adds paths for all texts of the form. Throws UserError for an expression or schema that has no grammar.
  std::function<void(Grammar& grammar, Grammar::State from, Grammar::State to)> write{};
};

/// A JSON value that `schema` allows; null: any object or array.
OutputForm json_form(Json schema);

/// A text that the whole regular expression matches.
OutputForm regex_form(std::string pattern);

/// One of the texts of a list. Throws UserError unless it is a list of texts, and not empty.
OutputForm choice_form(const Json& texts);

/// The form of an object with one of the keys "json" (a schema or its text), "json_object" (true), "regex"
/// and "choice"; keys that are null or false are passed over. Throws UserError for anything else.
OutputForm structured_output_form(const Json& wanted);

}  // namespace cohort
