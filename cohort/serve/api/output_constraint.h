// What a request asks of the form of its answer: JSON, a regular expression, a choice, or calls of tools.
#pragma once

#include "cohort/serve/api/body_reader.h"
#include "cohort/serve/api/generation.h"
#include "cohort/serve/api/served_model.h"

namespace cohort {

/// Which tools an answer calls.
struct ToolChoice {
  bool may_call = true;
  bool must_call = false;
  std::string name{};  ///< of the one that it must call; empty: any
};

/// OpenAI's "tool_choice". Throws ApiError for anything but "auto", "none", "required" and a function.
ToolChoice read_tool_choice(BodyReader& body);

/// Holds the answer to the calls that `choice` asks for. The prompt must be known. Throws ApiError naming
/// "tool_choice".
void constrain_calls(GenerationRequest& request, const ToolChoice& choice, const ServedModel& model);

/// Reads OpenAI's "response_format" and vLLM's "structured_outputs" (json, regex, choice, json_object) and
/// holds the answer to it. The prompt must be known. Throws ApiError naming the field.
void constrain_output(BodyReader& body, GenerationRequest& request, const ServedModel& model);

/// The same for a format with "type" and "schema" in it, as /v1/responses and Anthropic write it; `param` is
/// the field.
void constrain_to_format(const Json& format, const char* param, GenerationRequest& request,
                         const ServedModel& model);

}  // namespace cohort
