// A conversation of an agent with the policy: requests that continue one another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cohort/env/turn_format.h"
#include "cohort/rl/batch.h"
#include "cohort/sampler/request.h"
#include "cohort/serve/api/generation.h"

namespace cohort {

/// A turn of the policy that has ended.
struct BranchTurn {
  size_t num_messages;       ///< of the conversation up to this turn, which is the last of them
  int64_t num_tokens;        ///< of the completion up to its end
  AssistantMessage message;  ///< as the agent got it
  int32_t last_id;           ///< its last token
  int64_t number;  ///< among the turns of the episode, by their ends; a fork keeps those it begins with
};

struct Branch {
  RequestId request = -1;
  std::vector<int32_t> prompt_ids{};
  Json tools = nullptr;
  Json messages = Json::array();  ///< of the conversation, the policy's turns included; empty for plain text
  size_t num_prompt_messages = 0;
  std::vector<BranchTurn> turns{};
  Completion completion{};    ///< up to the last turn
  int64_t first_of_turn = 0;  ///< the first token of the turn that is drawn
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

/// A branch that is trained on.
struct TrainedBranch {
  const Branch* branch;
  size_t num_shared = 0;  ///< turns that it begins with and that branches before it have
};

/// The branches with turns of their own: the one with the episode's last turn, then the others in the order
/// in which they began. Each turn counts as the first one's that has it. Borrows `branches`.
std::vector<TrainedBranch> trained_branches(const std::vector<Branch>& branches);

/// A completion whose first tokens were not sampled: `opening`, then the first `num_injected` tokens of
/// `completion`, which end with a turn, then the rest as it was.
Completion with_opening(std::span<const int32_t> opening, const Completion& completion,
                        int64_t num_injected = 0);

/// The branch as a sequence to train on, behind `prompt_ids` where its own prompt begins with these; else it
/// has a prompt of its own. Its completion's episode has its messages alone.
Sample to_sequence(const TrainedBranch& trained, std::span<const int32_t> prompt_ids);

}  // namespace cohort
