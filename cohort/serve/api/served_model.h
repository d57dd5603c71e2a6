// The model that a server serves, as its APIs need it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cohort/models/decoder_config.h"
#include "cohort/serve/api/generation.h"
#include "cohort/tasks/row_text.h"
#include "cohort/text/tokenizer.h"
#include "cohort/text/tool_calls/format.h"

namespace cohort {

class ConstraintCache;

struct ServedModel {
  std::string name;     ///< that requests give as "model"
  int64_t created = 0;  ///< seconds since 1970
  const DecoderConfig* config = nullptr;
  const Tokenizer* tokenizer = nullptr;
  TextFormat format{};
  size_t max_prompt_bytes = 0;            ///< a longer text has more tokens than the context
  const ToolCallFormat* calls = nullptr;  ///< null: the model has no chat template
  std::shared_ptr<ConstraintCache> constraints{};
  SamplingParams defaults{};  ///< for what a request leaves open
};

/// All of a model but its calls of tools and its defaults. The references must outlive it.
ServedModel describe_served(const std::string& name, const DecoderConfig& config, const Tokenizer& tokenizer,
                            const TextFormat& format);

/// A request of one API, read.
struct ApiRequest {
  GenerationRequest generation;
  std::unique_ptr<AnswerWriter> writer;
};

/// Reads a body; `number` is different for each request. Throws ApiError.
using ReadApiRequest = ApiRequest (*)(const Json& body, const ServedModel& model, int64_t number);

ApiRequest read_chat_completion(const Json& body, const ServedModel& model, int64_t number);
ApiRequest read_completion(const Json& body, const ServedModel& model, int64_t number);
ApiRequest read_response(const Json& body, const ServedModel& model, int64_t number);
ApiRequest read_generate(const Json& body, const ServedModel& model, int64_t number);
ApiRequest read_message(const Json& body, const ServedModel& model, int64_t number);

}  // namespace cohort
