#include "cohort/rewards/answer_text.h"

#include "libs/common/answer_marks.h"
#include "libs/common/ascii.h"
#include "libs/common/long_integers.h"

namespace cohort {

StatedAnswer stated_answer(std::string_view text) {
  const std::string_view rest = behind_thinking(text);
  if (const auto answer = last_answer(rest)) return {trim(*answer), true};
  const Box box = last_box(rest);
  if (box.inside || box.is_open) return {trim(box.inside.value_or("")), true};
  return {trim(rest), false};
}

void describe_reference_column(FieldVisitor& f, std::string& column) {
  f("column", column, "The data's column with the reference; `answer` when empty.");
}

std::optional<std::string> column_text(const Json& fields, const std::string& column) {
  const auto value = fields.find(column);
  if (value == fields.end()) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number() || is_long_integer(*value)) return to_json_text(*value);
  return std::nullopt;
}

}  // namespace cohort
