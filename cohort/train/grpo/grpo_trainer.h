// The GRPO step (arXiv:2402.03300 algorithm 1): collect -> score -> credit -> update.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/critic/critic.h"
#include "cohort/train/grpo/coefficients.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/evidence.h"
#include "cohort/train/grpo/failure_limits.h"
#include "cohort/train/grpo/group_difficulty.h"
#include "cohort/train/grpo/monitor.h"
#include "cohort/train/grpo/own_functions.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/grpo/reference.h"
#include "cohort/train/grpo/step_rollout.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/run/run_loop.h"

namespace cohort {

/// What the updates of a step say of themselves.
struct UpdateResult {
  LossResult loss;  ///< added up over all updates
  int64_t num_updates = 0;
  LossResult first_loss;   ///< of the first update, before which policy and sampler are the same
  double grad_norm = 0.0;  ///< of the last update
  double learning_rate = 0.0;
};

class GrpoTrainer : public Trainer {
 public:
  /// `reference` and `critic` are null if nothing reads one (needs_reference, needs_critic), and
  /// `demonstration_format` if no demonstrations join the groups; `recorded`: see StepRollout; `own` has been
  /// tried; with `turns` completions are episodes (StepRollout::act_in); `processes` share the work. All
  /// arguments except the config and the functions must outlive this.
  GrpoTrainer(const TrainConfig& config, int64_t num_updates, Decoder& policy, Decoder* reference,
              Critic* critic, const Tokenizer* tokenizer, PromptSource& prompts, RewardScorer& scorer,
              AdamW& optimizer, const SftFormat* demonstration_format = nullptr, RecordPlan recorded = {},
              OwnFunctions own = {}, TurnHandler* turns = nullptr, dist::Group& processes = dist::alone());

  /// collect -> score -> credit -> update.
  StepReport step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;
  void begin_branch(int64_t count) override;
  void note_evaluation(const Metrics& metrics, StepReport& report) override;
  std::vector<TrainedPart> more_parts() override;

  /// Whether sampler and trainer agree in every bit on this platform, so that the sampler's log-probabilities
  /// are the policy's. Otherwise each step computes them.
  void assume_exact(bool is_exact) { is_exact_ = is_exact && !rollout_.is_sampled_elsewhere(); }

  /// Lets `function` sample in the engine's place; each step computes the log-probabilities of what it draws.
  void sample_by(RolloutFunction function) {
    rollout_.sample_by(std::move(function));
    is_exact_ = false;
  }

  /// While it is frozen, a step draws and judges but makes no update, and reports no metrics of one.
  void set_frozen(bool is_frozen) { is_frozen_ = is_frozen; }

  /// Updates that one step makes.
  static int64_t updates_per_step(const TrainConfig& config);

  /// Names of rewards and what they run in, such as the sandbox's level.
  const std::map<std::string, std::string>& reward_environments() const { return scorer_.environments(); }

 private:
  using MiniBatchUpdate = std::function<void(std::span<const Group>)>;

  Batch collect(int64_t index, StepTimer& timer);
  void score(Batch& batch, const ObjectiveSettings& objective, StepTimer& timer);
  Metrics credit(Batch& batch, const AdvantageConfig& advantages);
  UpdateResult update(const Batch& batch, const LossConfig& objective, StepTimer& timer);
  StepReport report(const Batch& batch, const UpdateResult& result, Metrics scored_metrics);

  void check_record(const Batch& batch);

  /// The objective of step `index`, whose critic may be in pre-training or out of use.
  ObjectiveSettings begin_critic(int64_t index);
  void for_each_mini_batch(const Batch& batch, const MiniBatchUpdate& update) const;
  void update_policy(std::span<const Group> mini_batch, const LossConfig& objective, UpdateResult& result);
  void update_critic(std::span<const Group> mini_batch, UpdateResult& result);
  double mean_kl(const Batch& batch, const LossResult& loss) const;
  Metrics scored_metrics(const Batch& batch, const RewardSummary& summary) const;
  Metrics update_metrics(const Batch& batch, const UpdateResult& result) const;
  void check_monitored_metrics() const;

  TrainConfig config_;
  ObjectiveSettings objective_;
  OwnFunctions own_;
  Coefficients coefficients_;
  int64_t num_updates_;
  Decoder& policy_;
  Reference reference_;
  Critic* critic_;
  const SftFormat* demonstration_format_;
  PromptSource& prompts_;
  RewardScorer& scorer_;
  AdamW& optimizer_;
  StepRollout rollout_;
  CriticPhase critic_phase_{.share = 0.0};  // of this step; without a critic its share is 0
  std::vector<Checker> checkers_;
  FailureLimits failure_limits_;
  GroupDifficulty difficulty_;
  Monitors monitors_;
  LossOptions loss_options_;
  bool is_exact_ = true;
  bool is_frozen_ = false;
  bool is_record_checked_ = false;
  int64_t num_tokens_ = 0;     // prompt and completion tokens since the run began
  double lr_scale_ = 1.0;      // of the policy's learning rate, after rollbacks
  int64_t skipped_steps_ = 0;  // updates left out because something was not finite
};

}  // namespace cohort
