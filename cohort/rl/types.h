// What a rollout is made of. Token ids are the state; text is a view of them and is never tokenised again.
#pragma once

#include <cstdint>
#include <memory>
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
};

/// Only sampled tokens carry loss; injected ones are tool results, user turns and edits.
enum class TokenOrigin : uint8_t { kSampled, kInjected };

enum class FinishReason : uint8_t {
  kStop,    ///< a stop token or a stop string
  kLength,  ///< max_completion_length, the context or the caller ended it
};

inline const char* to_string(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

/// Where the sampler recorded what it computed of a completion, until the next step; -1: it did not.
struct RecordedRows {
  int64_t prompt = -1;      ///< the row of the prompt's first token, the others follow
  int64_t completion = -1;  ///< the row of the completion's first token
};

/// The ids that a token was drawn from, ascending; null where that is the whole vocabulary.
using KeptIds = std::shared_ptr<const std::vector<int32_t>>;

struct Completion {
  std::vector<int32_t> token_ids;  ///< the stop token, where there is one, included
  std::vector<float>
      sampler_logprobs;  ///< per token, natural log, at the sampling temperature, over the kept set
  std::vector<TokenOrigin> origin;  ///< per token
  /// Per token, what top-k, top-p, min-p and min_tokens kept; empty where no token was drawn from less than
  /// the whole vocabulary.
  std::vector<KeptIds> kept_ids;
  FinishReason finish_reason = FinishReason::kLength;
  int64_t policy_version = 0;  ///< number of updates behind the weights that sampled it
  int64_t sample = 0;          ///< its place among all that were drawn of its prompt: where its draws lie
  std::string text;            ///< of `token_ids`, as the sampling parameters show it
  RecordedRows recorded{};
};

struct RolloutGroup {
  Prompt prompt;
  std::vector<Completion> completions;
};

/// Only `kOk` counts as a reward; every other status is masked and counted.
enum class RewardStatus : uint8_t { kOk, kUnparsed, kTimeout, kError, kSandboxError, kSkipped };

inline const char* to_string(RewardStatus status) {
  constexpr const char* kNames[] = {"ok", "unparsed", "timeout", "error", "sandbox_error", "skipped"};
  return kNames[static_cast<int>(status)];
}

/// The reward of one step of a completion.
struct StepReward {
  int64_t end = 0;  ///< tokens of the completion up to the end of the step
  double score = 0.0;
};

struct RewardResult {
  double score = 0.0;
  RewardStatus status = RewardStatus::kOk;
  std::string detail;               ///< why the status is not ok, or what the verifier saw
  std::vector<StepReward> steps{};  ///< of rewards that judge step by step, in order; `score` sums them up
};

/// The results of one group: num_completions rows, one column per named reward function.
class RewardMatrix {
 public:
  RewardMatrix() = default;
  RewardMatrix(int64_t num_completions, std::vector<std::string> names)
      : names_(std::move(names)),
        cells_(num_completions * names_.size()),
        num_completions_(num_completions) {}

  int64_t num_completions() const { return num_completions_; }
  int64_t num_rewards() const { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  RewardResult& at(int64_t completion, int64_t reward) {
    return cells_.at(completion * num_rewards() + reward);
  }
  const RewardResult& at(int64_t completion, int64_t reward) const {
    return cells_.at(completion * num_rewards() + reward);
  }

 private:
  std::vector<std::string> names_;
  std::vector<RewardResult> cells_;
  int64_t num_completions_ = 0;
};

}  // namespace cohort
