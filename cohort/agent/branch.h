// A conversation of an agent with the policy: requests that continue one another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/env/turn_format.h"
#include "cohort/sampler/request.h"
#include "cohort/serve/api/generation.h"

namespace cohort {

/// A turn of the policy that has ended.
struct BranchTurn {
  size_t num_messages;       ///< of the conversation up to this turn, which is the last of them
  int64_t num_tokens;        ///< of the completion up to its end
  AssistantMessage message;  ///< as the agent got it
  int32_t last_id;           ///< its last token
};

struct Branch {
  RequestId request = -1;
  std::vector<int32_t> prompt_ids{};
  Json tools = nullptr;
  Json messages = Json::array();  ///< of the conversation, the policy's turns included; empty for plain text
  size_t num_prompt_messages = 0;
  std::vector<BranchTurn> turns{};
  Completion completion{};       ///< up to the last turn
  int64_t first_of_turn = 0;     ///< the first token of the turn that is drawn
  int64_t place_in_episode = 0;  ///< how many turns of the episode had ended when its last one did
};

/// Where a request goes on.
struct Continuation {
  size_t branch;
  size_t turn;  ///< of the branch, after which the request's messages or tokens go on
};

/// The branch and turn that a request continues with the most messages, or tokens for plain text. Nothing if
/// it begins a conversation of its own. A turn is recognized by its content and its calls.
std::optional<Continuation> find_continuation(const std::vector<Branch>& branches,
                                              const GenerationRequest& request);

/// A completion whose first tokens were not sampled: `opening` before `completion`.
Completion with_opening(std::span<const int32_t> opening, const Completion& completion);

}  // namespace cohort
