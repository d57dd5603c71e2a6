// What a completion and a column say, as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/config.h"
#include "cohort/core/json.h"

namespace cohort {

struct StatedAnswer {
  std::string_view text;   ///< without white space around
  bool is_marked = false;  ///< by tags or a box
};

/// What a completion states as its answer: of the text behind the last </think>, the inside of its last
/// <answer>, or of its last box, or else all of it. Where that box is open, the answer is marked and empty.
StatedAnswer stated_answer(std::string_view text);

/// Declares the key `column` of rewards that compare with a reference.
void describe_reference_column(FieldVisitor& f, std::string& column);

/// The column's text; a number as JSON writes it. Nothing where it is missing or something else.
std::optional<std::string> column_text(const Json& fields, const std::string& column);

}  // namespace cohort
