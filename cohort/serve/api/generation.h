// What every API asks of a model, and what it gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/sampler/sampling.h"
#include "cohort/text/tool_calls/message.h"

namespace cohort {

struct GenerationRequest {
  std::vector<std::vector<int32_t>> prompts;  ///< token ids; several only of /v1/completions
  int64_t num_choices = 1;                    ///< of each prompt
  SamplingParams params{};
  std::optional<int64_t> seed{};
  bool is_stream = false;
  bool is_chat = false;               ///< the choices are turns of a conversation
  Json messages = nullptr;            ///< the conversation as chat templates read it, or null
  Json tools = nullptr;               ///< schemas of tools that a turn may call, or null
  bool allows_parallel_calls = true;  ///< false: a turn's first call alone
  bool opens_reasoning = false;       ///< the prompt ends within the model's reasoning
  bool echoes = false;                ///< the texts begin with the prompt's
  bool wants_prompt_logprobs = false;
};

/// One completion of a prompt.
struct Choice {
  std::vector<SampledToken> tokens{};
  std::string text{};          ///< without the stop string or stop token that ended it
  AssistantMessage message{};  ///< of a turn: its text read
  FinishReason finish_reason = FinishReason::kLength;
  std::string stop_string{};  ///< that ended it; empty if none did
  int64_t num_echoed = 0;     ///< first tokens that are the prompt's
};

/// What one token of a choice adds.
struct Piece {
  std::string text{};
  bool is_reasoning = false;
  const SampledToken* token = nullptr;  ///< null if its token was in the piece before
};

/// How an API writes an answer; one object for each request. One thread at a time calls.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  /// The answer in one piece. Choices are in the order of prompts, those of one prompt side by side.
  virtual Json whole(const std::vector<Choice>& choices) = 0;

  // The parts of a stream of server-sent events. `choice` counts through all prompts.
  virtual std::string begin() = 0;
  virtual std::string piece(size_t choice, const Piece& piece) = 0;
  virtual std::string end(size_t choice, const Choice& drawn) = 0;
  virtual std::string finish(const std::vector<Choice>& choices) = 0;
};

/// A server-sent event; without a name if `event` is empty.
std::string server_sent_event(const Json& data, const std::string& event = {});

}  // namespace cohort
