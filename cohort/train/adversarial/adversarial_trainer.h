// The step of two policies: the attacker draws attacks, the defender plays against each of them, and those
// policies that the step trains are updated (AdvGRPO, arXiv:2606.09701).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/tasks/row_text.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/adversarial/attack_prompts.h"
#include "cohort/train/adversarial/policy_side.h"
#include "cohort/train/run/run_loop.h"

namespace cohort {

class AdversarialTrainer : public Trainer {
 public:
  /// Both sides have trainers, the attacker's with the reward opponent_reward(play) and the defender's with
  /// `prompts`, which this fills with prompts in `format`. All references must outlive this.
  AdversarialTrainer(const AdversarialConfig& config, PolicySide& attacker, PolicySide& defender,
                     AttackPrompts& prompts, TextFormat format, const Tokenizer& tokenizer,
                     PlayAttacks& play);

  /// Both policies draw before either is updated. Metrics and timings begin with the policy's name and a "/".
  StepReport step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;
  std::vector<TrainedModel> models() override;

 private:
  /// The defender's step, whose games give each attack its reward.
  std::vector<RewardResult> play(std::span<const RewardRow> attacks);

  const AdversarialConfig& config_;
  PolicySide& attacker_;
  PolicySide& defender_;
  AttackPrompts& prompts_;
  TextFormat format_;
  const Tokenizer& tokenizer_;
  int64_t step_ = 0;  // under way
  std::optional<StepReport> defence_;
};

/// Adds what a policy reports of a step to the report of both.
void add_report(const std::string& policy, StepReport report, StepReport& both);

/// Throws ConfigError if the prompt is longer than defender.max_prompt_length.
void check_defender_prompt(const Prompt& prompt, int64_t max_prompt_length);

}  // namespace cohort
