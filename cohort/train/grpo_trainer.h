// The GRPO step (arXiv:2402.03300 algorithm 1): prompt -> rollout -> reward -> advantage -> loss -> step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/objectives/advantage.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/coefficients.h"
#include "cohort/train/config.h"
#include "cohort/train/critic.h"
#include "cohort/train/evidence.h"
#include "cohort/train/failure_limits.h"
#include "cohort/train/group_difficulty.h"
#include "cohort/train/memory_plan.h"
#include "cohort/train/monitor.h"
#include "cohort/train/optimizer.h"
#include "cohort/train/policy_loss.h"
#include "cohort/train/reference.h"
#include "cohort/train/run_data.h"
#include "cohort/train/run_loop.h"
#include "cohort/train/step_rollout.h"

namespace cohort {

/// Everything a step produced; what the metrics and the completions file are made from.
struct GrpoStep : ScoredRollout {
  TotalRewards totals;           ///< per completion
  std::vector<int64_t> group_k;  ///< per group, with gfpo_adaptive_difficulty
  Advantages advantages;
  Metrics scored_metrics;             ///< those known before the update
  std::vector<uint8_t> masked;        ///< per completion; 1 where a monitor takes the loss off it
  std::vector<TrainedGroup> trained;  ///< points into `groups`
  LossResult loss;                    ///< added up over all updates
  int64_t num_updates = 0;
  LossResult first_loss;   ///< of the first update, before which policy and sampler are the same
  double grad_norm = 0.0;  ///< of the last update
  double learning_rate = 0.0;
};

class GrpoTrainer : public Trainer {
 public:
  /// `reference` and `critic` are null where nothing reads one (needs_reference, needs_critic),
  /// `expert_format` where no expert's completions join the groups; `recorded`: see StepRollout. All
  /// arguments but the config must outlive this.
  GrpoTrainer(const TrainConfig& config, int64_t num_updates, Decoder& policy, Decoder* reference,
              Critic* critic, const Tokenizer* tokenizer, PromptSource& prompts, RewardScorer& scorer,
              AdamW& optimizer, const SftFormat* expert_format = nullptr, RecordPlan recorded = {});

  StepRecord step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;
  std::vector<TrainedPart> more_parts() override;

  /// Updates that one step makes.
  static int64_t updates_per_step(const TrainConfig& config);

  /// Names of rewards and what they run in, such as the sandbox's level.
  const std::map<std::string, std::string>& reward_environments() const { return scorer_.environments(); }

 private:
  void prepare(GrpoStep& step);
  double mean_kl(const GrpoStep& step) const;
  void assign_advantages(GrpoStep& step);
  void mask(GrpoStep& step);
  Advantages advantages(const GrpoStep& step, const TotalRewards& totals) const;
  void check_record(int64_t index, const GrpoStep& step);
  CriticPhase begin_critic(int64_t index);
  void for_each_mini_batch(GrpoStep& step,
                           void (GrpoTrainer::*update)(std::span<const TrainedGroup>, GrpoStep&));
  void update(std::span<const TrainedGroup> mini_batch, GrpoStep& step);
  void update_critic(std::span<const TrainedGroup> mini_batch, GrpoStep& step);
  Metrics scored_metrics(const GrpoStep& step) const;
  Metrics update_metrics(const GrpoStep& step) const;
  void fill_record(int64_t index, const GrpoStep& step, StepRecord& record);
  ScoredStep scored(const GrpoStep& step) const;
  void check_monitored_metrics() const;

  TrainConfig config_;
  ObjectiveSettings objective_;
  Coefficients coefficients_;
  int64_t num_updates_;
  Decoder& policy_;
  Reference reference_;
  Critic* critic_;
  const SftFormat* expert_format_;
  PromptSource& prompts_;
  RewardScorer& scorer_;
  AdamW& optimizer_;
  StepRollout rollout_;
  std::vector<Checker> checkers_;
  FailureLimits failure_limits_;
  GroupDifficulty difficulty_;
  Monitors monitors_;
  LossOptions loss_options_;
  bool is_record_checked_ = false;
  int64_t num_tokens_ = 0;     // prompt and completion tokens since the run began
  int64_t skipped_steps_ = 0;  // updates left out because something was not finite
};

}  // namespace cohort
