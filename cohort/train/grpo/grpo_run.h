// `cohort train` as a whole: everything that a run of GRPO consists of, made and checked before its first
// step.
//
//   GrpoRun run(config, options);
//   return run.run();
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/agent/episode_setup.h"
#include "cohort/env/environment.h"
#include "cohort/models/decoder.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tasks/dataset_source.h"
#include "cohort/train/critic/critic.h"
#include "cohort/train/grpo/grpo_trainer.h"
#include "cohort/train/grpo/preflight.h"
#include "cohort/train/grpo/step_rollout.h"
#include "cohort/train/grpo/step_shape.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run.h"
#include "cohort/train/run/run_data.h"

namespace cohort {

/// Functions of the caller in the engine's place; those that are empty leave the work to the engine.
struct CallersFunctions {
  RewardTypes rewards{};      ///< types that `[[reward]]` tables may name besides Cohort's own
  RolloutFunction rollout{};  ///< samples the completions that are trained on
  std::unique_ptr<Environment> environment{};  ///< in the place of the recipe's
  OwnFunctions own{};                          ///< in place of what the objective computes
  bool read_weights = false;  ///< the caller reads the weights: each process has all of them in float32
};

class GrpoRun : public Run {
 public:
  /// Opens or continues the run in config.run.dir. Throws UserError for whatever the user can mend, also if
  /// `processes`, which share the run and must outlive it, were started with different recipes.
  GrpoRun(const TrainConfig& config, const ResumeOptions& options, CallersFunctions functions = {},
          dist::Group& processes = dist::alone());

  /// As Run::evaluate_on(), with `num_generations` completions of each prompt.
  Metrics evaluate_on(const std::vector<std::string>& files, int64_t num_generations);

  Metrics evaluate_on(const std::vector<std::string>& files) override {
    return evaluate_on(files, generations_eval(config_));
  }

  /// A few completions before the first step, and what a trial of the run finds (preflight.h).
  Trial draw_trial();
  std::vector<Finding> findings_of(const Trial& trial) { return preflight(plan(), trial); }

  /// The most memory that the run takes at once.
  MemoryPlan memory_plan() const { return plan_memory(*policy_, shape_); }

  /// Completions that an evaluation draws; 0 without held-out rows.
  int64_t num_evaluated() const { return num_evaluated_; }

  /// Evaluates on the first held-out rows, at least one, as the run does, and returns how many completions
  /// that took. Nothing is recorded. Needs held-out rows.
  int64_t evaluate_first(int64_t num_completions);

  Decoder& model() override { return *policy_; }
  GrpoTrainer& trainer() override { return *trainer_; }
  const ModelConfig& model_config() const override { return config_.model; }
  const Tokenizer& tokenizer() const { return *texts_.tokenizer; }
  const TextFormat& prompt_format() const { return texts_.format; }
  const TrainConfig& config() const { return config_; }

 private:
  /// The texts and rows of a run, opened and checked against the model.
  struct Texts {
    Texts(const TrainConfig& config, const Decoder& policy, const std::tm& start, const Json& tools);

    const SftFormat* demonstrations() const { return has_demonstrations ? &demonstration_format : nullptr; }

    std::unique_ptr<const Tokenizer> tokenizer;
    TextFormat format;
    SftFormat demonstration_format;
    bool has_demonstrations;
    Dataset data;
  };

  void make_trainer(RolloutFunction rollout);
  void make_evaluation();
  void open(const ResumeOptions& options);
  void check_before_first_step();
  RunPlan plan();
  void save_more() const override;

  dist::Group& processes_;
  EpisodeSetup episodes_;
  TrainConfig config_;
  OwnFunctions own_;
  std::tm start_;
  std::unique_ptr<Decoder> policy_;
  Texts texts_;
  StepShape shape_;
  int64_t num_steps_;
  DatasetSource prompts_;
  std::unique_ptr<Decoder> reference_;  // with weights of its own
  std::unique_ptr<RewardScorer> scorer_;
  AdamW optimizer_;
  std::unique_ptr<Critic> critic_;
  std::optional<GrpoTrainer> trainer_;
  bool is_sampled_elsewhere_ = false;
  std::optional<Sampler> eval_sampler_;
  std::function<EvalRecord(int64_t num_prompts)> evaluate_first_;
  std::function<EvalRecord()> evaluate_;
  int64_t num_evaluated_ = 0;
};

/// Runs `config` in config.run.dir, or continues what is there if the options say so, together with the other
/// processes of the job. Returns the exit code. Throws UserError for whatever the user can fix.
int run_grpo(const TrainConfig& config, const ResumeOptions& options);

}  // namespace cohort
