// The parts of a rollout: prompts, completions and rewards. Token ids are the state; text is a view of them
// and is never tokenized again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/json.h"

namespace cohort {

struct Prompt {
  std::string id;  ///< unique in its data set; the random numbers of its completions do not depend on it
  std::vector<int32_t> token_ids;
  std::string text;
  Json fields = Json::object();  ///< the data set's other columns, handed to the rewards
  /// Tokens that begin the policy's first turn, which goes on after them (AXPO). In a rollout they follow
  /// `token_ids`; the prompt of the group that comes back ends with them. They carry no loss.
  std::vector<int32_t> turn_ids{};
};

/// The origin of a token of a completion. Only sampled tokens carry loss.
enum class TokenOrigin : uint8_t {
  kSampled,
  kInjected,  ///< a tool's result, a user's turn or an edit
};

/// A run of tokens of one origin. `first` and `count` are places in Completion::token_ids.
struct TokenSpan {
  TokenOrigin origin = TokenOrigin::kSampled;
  int32_t turn = 0;            ///< counts from 0
  int64_t policy_version = 0;  ///< number of updates that led to the weights that sampled it
  int64_t first = 0;
  int64_t count = 0;

  int64_t end() const { return first + count; }
  bool operator==(const TokenSpan&) const = default;
};

enum class FinishReason : uint8_t {
  kStop,    ///< a stop token or a stop string
  kLength,  ///< max_completion_length, the context or the caller ended it
};

inline const char* to_string(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

/// The ids that a token was drawn from, ascending; null for the whole vocabulary.
using KeptIds = std::shared_ptr<const std::vector<int32_t>>;

/// Only `kOk` counts as a reward; every other status is masked and counted.
enum class RewardStatus : uint8_t { kOk, kUnparsed, kTimeout, kError, kSandboxError, kSkipped };

inline const char* to_string(RewardStatus status) {
  constexpr const char* kNames[] = {"ok", "unparsed", "timeout", "error", "sandbox_error", "skipped"};
  return kNames[static_cast<int>(status)];
}

/// The reward of one step of a completion.
struct StepReward {
  int64_t end = 0;  ///< tokens of the completion up to the end of the step, injected ones included
  double score = 0.0;
};

struct RewardResult {
  double score = 0.0;
  RewardStatus status = RewardStatus::kOk;
  std::string detail{};             ///< why the status is not ok, or the reason for the score
  std::vector<StepReward> steps{};  ///< of rewards that judge step by step, in order; `score` sums them up
};

/// Begins the error text of a tool call whose arguments the tool's schema forbids.
constexpr const char* kWrongArguments = "wrong arguments: ";

/// What the tokens of a completion do not say about its episode with an environment.
struct EpisodeRecord {
  int64_t number = -1;                     ///< the environment's own number of it, in its process
  std::string opening{};                   ///< what the environment said first, after the prompt
  Json messages = Json::array();           ///< from the policy's first turn on, with those of the environment
  int64_t num_turns = 0;                   ///< of the policy
  int64_t num_calls = 0;                   ///< of tools, malformed ones included
  int64_t num_failed_calls = 0;            ///< those whose result is an error
  std::vector<StepReward> turn_rewards{};  ///< of turns that the environment rewarded; `end` counts tokens
  std::vector<int64_t> turn_states{};      ///< [num_turns] the state before each turn, by a number that equal
                                           ///< states share; empty: the environment gives none
  std::optional<RewardResult> reward{};    ///< the environment's judgement, without the turns' rewards
  std::string failure{};                   ///< why the environment failed; empty if it did not
};

/// The text after a prompt. Columns such as log-probabilities have a value for each sampled token, in order.
struct Completion {
  std::vector<int32_t> token_ids;  ///< the stop token included, if there is one
  /// Cover `token_ids` in order. Empty: all tokens are sampled, in turn 0, by policy version 0.
  std::vector<TokenSpan> spans{};
  /// Per sampled token: natural log, at the sampling temperature, over the kept set.
  std::vector<float> sampler_logprobs{};
  /// Per sampled token, the ids that top-k, top-p, min-p and min_tokens kept; empty if every token was drawn
  /// from the whole vocabulary.
  std::vector<KeptIds> kept_ids{};
  FinishReason finish_reason = FinishReason::kLength;
  int64_t sample = 0;  ///< its number among all completions drawn of its prompt, which addresses its draws
  std::string text{};  ///< of `token_ids`, under the sampling parameters; of an episode the last turn's
  std::optional<EpisodeRecord> episode{};  ///< of a completion with an environment

  /// Appends a token without its log-probability. It continues the last span if origin, turn and policy
  /// version are the same.
  void append(int32_t id, TokenOrigin origin, int32_t turn = 0, int64_t policy_version = 0);

  /// Sampled tokens, which are the tokens with loss.
  int64_t num_sampled() const;

  /// Sampled tokens among the first `end` tokens.
  int64_t num_sampled_before(int64_t end) const;

  /// Of the first span; 0 without spans.
  int64_t policy_version() const { return spans.empty() ? 0 : spans.front().policy_version; }
};

/// Calls f(place) for each sampled token's place in `completion.token_ids`, ascending.
template <typename F>
void for_each_sampled(const Completion& completion, F f) {
  if (completion.spans.empty()) {
    for (int64_t i = 0; i < std::ssize(completion.token_ids); ++i) f(i);
  }
  for (const TokenSpan& span : completion.spans) {
    if (span.origin != TokenOrigin::kSampled) continue;
    for (int64_t i = span.first; i < span.end(); ++i) f(i);
  }
}

/// The tokens up to the end of each of the policy's turns, injected ones included; one turn without spans.
std::vector<int64_t> turn_ends(const Completion& completion);

/// Throws InternalError unless the spans cover the tokens in order and each column has a value for each
/// sampled token.
void check_completion(const Completion& completion);

}  // namespace cohort
