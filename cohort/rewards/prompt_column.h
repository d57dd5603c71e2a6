// The column `prompt` of a row as rewards see it in training.
#pragma once

#include "cohort/core/json.h"
#include "cohort/rl/types.h"

namespace cohort {

/// A text, or a conversation, which reaches rewards as text and as the field `prompt_messages`. Without a
/// chat template the text is that of its last message. Other values leave the prompt as it is.
void read_prompt_column(const Json& value, Prompt& prompt);

}  // namespace cohort
