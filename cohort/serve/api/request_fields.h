// Fields that several APIs have.
#pragma once

#include <functional>
#include <string>

#include "cohort/serve/api/body_reader.h"
#include "cohort/serve/api/served_model.h"

namespace cohort {

/// Throws ApiError with status 404 for the name of another model.
void check_model_name(BodyReader& body, const ServedModel& model);

/// temperature, top_p, penalties and the like, over the model's defaults. `length_names` are the fields for
/// the longest completion, the preferred one first.
SamplingParams read_sampling(BodyReader& body, const ServedModel& model,
                             std::initializer_list<const char*> length_names);

/// Adds the strings of a field to those that end a completion.
void read_stops(BodyReader& body, const char* name, SamplingParams& params);

/// The list "tools" as chat templates read it: `function_of` gives {"name", "description", "parameters"} of
/// an entry, or null for one that is wrong, which `form` describes. Null for no tools, and if none may be
/// called.
Json read_tools(BodyReader& body, bool may_call, const std::function<Json(const Json& tool)>& function_of,
                const char* form);

/// The keys of a function that chat templates read. Null if it has no name.
Json function_fields(const Json& function);

/// A list of the model's token ids, not empty. Throws ApiError, naming `param`.
std::vector<int32_t> read_token_ids(const Json& list, const ServedModel& model, const char* param);

/// Throws ApiError for a text of so many bytes that it cannot fit the context: it would take long to
/// tokenize.
void check_prompt_bytes(size_t num_bytes, const ServedModel& model, const char* param);

/// Adds the prompt of a conversation with its tools: `messages` and `tools` in OpenAI's form, the latter or
/// null. `kwargs` are variables of the chat template, or null. Throws ApiError, naming `param`.
void set_conversation(GenerationRequest& request, const Json& messages, const Json& tools, const Json& kwargs,
                      const ServedModel& model, const char* param);

/// Throws ApiError if the prompts and the longest completion do not fit the model's context.
/// `is_length_given`: the request itself says how long its completions may be.
void check_lengths(GenerationRequest& request, const ServedModel& model, bool is_length_given);

/// Whether a stream ends with its usage: "stream_options": {"include_usage": true}.
bool wants_stream_usage(BodyReader& body);

/// [token ids] of drawn tokens.
Json token_ids_of(const std::vector<SampledToken>& tokens);

/// Such as "chatcmpl-000000000000002a".
std::string object_id(const char* prefix, int64_t number);

/// Nine letters and digits, the length that Mistral's templates ask for.
std::string call_id(int64_t number, size_t choice, size_t call);

/// The message of a turn as a client gets it. Calls get ids where their format has none. A text with a call
/// that cannot be read is all content, as the model wrote it, and so is a call if the request has no tools.
AssistantMessage read_turn_text(const ServedModel& model, const GenerationRequest& request, std::string text,
                                int64_t number, size_t choice);

/// The text of one token.
std::string token_text(const ServedModel& model, int32_t id);

/// {"token", "logprob", "bytes"} as /v1/chat/completions and /v1/responses have it.
Json token_logprob(const ServedModel& model, int32_t id, float logprob);

/// The same with "top_logprobs".
Json drawn_logprob(const ServedModel& model, const SampledToken& token);

}  // namespace cohort
