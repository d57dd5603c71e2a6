#include "cohort/rewards/prompt_column.h"

namespace cohort {

void read_prompt_column(const Json& value, Prompt& prompt) {
  if (value.is_string()) prompt.text = value.get<std::string>();
  if (!value.is_array()) return;
  prompt.fields["prompt_messages"] = value;
  if (value.empty() || !value.back().is_object()) return;
  const auto content = value.back().find("content");
  if (content != value.back().end() && content->is_string()) prompt.text = content->get<std::string>();
}

}  // namespace cohort
