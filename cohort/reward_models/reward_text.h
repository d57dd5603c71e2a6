// How a reward model is shown what it judges.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// A prompt and a completion in the reward model's ids.
struct ShownText {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> completion_ids;
};

/// Where the policy's tokenizer.json is the reward model's too, byte for byte, the model sees the very ids
/// that were sampled. Else the text is encoded anew: a conversation by the model's own chat template, a plain
/// prompt as `cohort reward-train` encodes it, with the end of sequence behind a completion that stopped.
class RewardText {
 public:
  /// Throws FormatError where the model has no usable tokenizer.
  RewardText(const std::filesystem::path& model_dir, const DecoderConfig& model, const JudgedPolicy& policy);

  /// Throws UserError for a conversation that the chat template refuses and text that is not UTF-8.
  ShownText show(const Prompt& prompt, const Completion& completion) const;

  /// That of the ids that `show` makes.
  const Tokenizer& tokenizer() const { return *tokenizer_; }

  /// That of Completion::token_ids; null where it is not known.
  const Tokenizer* policy_tokenizer() const;

 private:
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<const Tokenizer> policy_tokenizer_;  // null where it is the same
  bool shares_ids_;
  TextFormat format_;
  std::optional<int32_t> end_id_;  // what stands behind a completion that stopped
};

}  // namespace cohort
