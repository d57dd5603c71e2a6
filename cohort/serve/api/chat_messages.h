// Conversations of APIs as chat templates read them.
#pragma once

#include "cohort/core/json.h"

namespace cohort {

/// OpenAI's messages: contents are texts or lists of text parts, a call's arguments an object, and a message
/// of role "tool" has the name of the tool that it answers for. Throws ApiError.
Json template_messages(const Json& messages);

/// The messages of a body of Anthropic's /v1/messages in OpenAI's form, its system text first. Throws
/// ApiError.
Json messages_of_blocks(const Json& system, const Json& messages);

/// The items of a body of /v1/responses in OpenAI's form, its instructions first. Throws ApiError.
Json messages_of_items(const Json& instructions, const Json& input);

}  // namespace cohort
