// collect, the first part of a GRPO step: prompt -> rollout -> reward.
//
// The completions of prompt p of a step are drawn at (seed, step, p, sample). Prompts count on through all
// batches of a step and samples through all rounds of a prompt, so that no setting makes two draws meet.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/sampler/sampler.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/grpo/generation_budget.h"
#include "cohort/train/grpo/reward_balance.h"
#include "cohort/train/grpo/reward_timings.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/rollout_share.h"

namespace cohort {

/// Samples a process's share in the engine's place: a group for each prompt, in their order, with
/// `group_sizes[p]` completions of prompt p; `address` is where the engine would draw them. A group's prompt
/// has the ids that the completions continue, and `sampler_logprobs` are those of whatever sampled.
using RolloutFunction =
    std::function<std::vector<Group>(const std::vector<Prompt>& prompts,
                                     const std::vector<int64_t>& group_sizes, const RolloutAddress& address)>;

/// Decides which samples a step has, and scores them while others are still being sampled.
class StepRollout {
 public:
  /// All arguments but the config must outlive this. Activations are recorded of a step's rollouts while they
  /// have no more rows than are planned. Each of `processes` draws and scores a share of the samples, and all
  /// get all of them.
  StepRollout(const TrainConfig& config, const Decoder& policy, const Tokenizer* tokenizer,
              PromptSource& prompts, RewardScorer& scorer, RecordPlan recorded = {},
              dist::Group& processes = dist::alone());

  /// Lets `function` sample from now on; nothing is recorded then.
  void sample_by(RolloutFunction function);

  /// Lets the completions be episodes of several turns from now on; nothing is recorded then.
  void act_in(TurnHandler& turns) {
    turns_ = &turns;
    stop_recording();
  }

  bool has_episodes() const { return turns_ != nullptr; }

  /// Whether an episode may have several conversations.
  bool has_branches() const { return has_episodes() && turns_->adds_requests(); }

  /// Whether a function samples.
  bool is_sampled_elsewhere() const { return rollout_function_ != nullptr; }

  /// Draws other samples from now on than before the `count`-th rollback.
  void begin_branch(int64_t count);

  /// Draws the samples of step `index`, with their rewards, by weights with `policy_version` updates behind
  /// them. Adds the laps `timing_s/gen` and `timing_s/reward`, the sampler's passes and the rewards' own
  /// timings to `timer`.
  Batch collect(int64_t index, int64_t policy_version, StepTimer& timer);

  /// `rollout/*` of the newest step, if a setting decides what is trained on.
  const Metrics& metrics() const { return metrics_; }

  /// What the sampler computed of the newest step.
  ActivationRecord& record() { return record_; }

  /// Records no more.
  void stop_recording() {
    record_ = ActivationRecord();
    num_recorded_ = 0;
  }

  /// The metrics of a step that draws nothing: their names.
  Metrics empty_metrics() const { return metrics_of({}); }

  /// What the next step depends on besides the prompts.
  Json save() const;
  void load(const Json& state);

  /// The weights of the rewards, which the trainer moves after an update and saves.
  RewardBalance& balance() { return balance_; }
  const RewardBalance& balance() const { return balance_; }

 private:
  struct Counts {
    int64_t num_prompts = 0, num_completions = 0, num_rounds = 0, num_settled = 0;
    int64_t num_no_difference = 0, num_surplus = 0, num_filled = 0;
    int64_t smallest_group = 0, largest_group = 0;
    int64_t num_wrong_calls = 0, num_rerolled = 0, num_recovered = 0;
    int64_t num_tokens = 0, num_shared_tokens = 0;      // of trees
    int64_t num_stale_tokens = 0;                       // of num_tokens, with prompts_ahead
    std::vector<double> first_rewards, greedy_rewards;  // of prompts; nan: none
  };
  /// A call of `collect` under way.
  struct Drawing {
    int64_t step, policy_version;
    StepTimer& timer;
    Batch batch{};
    Counts counts{};
    std::vector<RewardRound> reward_rounds{};
    double prefill_s = 0.0, decode_s = 0.0;  // of the sampler's passes
  };
  /// Prompts that are to be sampled, and where.
  struct Active {
    std::vector<Prompt> prompts;
    std::vector<int64_t> groups{};  // their places in the batch
    RolloutAddress address{};
  };
  struct Successes {
    int64_t num_positive = 0, num_others = 0;
  };
  struct Round {
    std::vector<Group> groups, greedy;
  };
  /// What is drawn of the next step already. This process judges its share, while all else goes on.
  struct Ahead {
    std::vector<Group> groups{};    // of all processes, without rewards
    std::vector<Prompt> prompts{};  // of the groups, as they were given
    RolloutShare share{};           // in whole groups
    int64_t first_number = 0;       // of the share's first group in the scorer
  };

  void draw_batch(int64_t num_prompts, Drawing& drawing);
  void drop_settled(Active& active, Drawing& drawing) const;
  std::vector<int64_t> group_sizes(const std::vector<Prompt>& prompts, Drawing& drawing) const;
  ActivationRecord* record_for(const RolloutShare& share);
  Round sample(const Active& active, Drawing& drawing);
  RolloutShare own_share(std::vector<Prompt> prompts, std::vector<int64_t> sizes, RolloutAddress address,
                         int64_t num_minibatches) const;
  RolloutShare own_groups(std::vector<Prompt> prompts, std::vector<int64_t> sizes,
                          RolloutAddress address) const;
  std::vector<Group> draw(const RolloutShare& share, const std::vector<int64_t>& numbers,
                          ActivationRecord* record, Drawing& drawing);
  void draw_with_ahead(Drawing& drawing);
  std::vector<Group> take_ahead(Ahead ahead, Drawing& drawing);
  std::vector<Group> draw_greedy(const RolloutShare& share, int64_t first, Drawing& drawing);
  void count_passes(Drawing& drawing) const;
  std::vector<Group> given_groups(const RolloutShare& share, int64_t policy_version) const;
  void take_rewards(int64_t first, std::vector<Group>& groups, Drawing& drawing);
  void start_groups(Round round, Drawing& drawing);
  void continue_groups(const std::vector<int64_t>& active, Round round, Drawing& drawing) const;
  void reroll_calls(Drawing& drawing);
  void note_rewards(const Group& group, Drawing& drawing);
  Successes successes(const Group& group) const;
  std::vector<uint8_t> differing_groups(const Batch& batch) const;
  void choose_groups(const std::vector<uint8_t>& differs, Drawing& drawing) const;
  Metrics metrics_of(const Counts& counts) const;

  RolloutConfig config_;
  AdvantageConfig advantages_;
  uint64_t run_seed_, seed_;  // the run's, and that of the branch that it is on
  PromptSource& prompts_;
  RewardScorer& scorer_;
  dist::Group& processes_;
  int64_t num_minibatches_;
  Sampler sampler_;
  const Decoder& policy_;
  int64_t num_recorded_;  // rows of a step, at most
  ActivationRecord record_;
  SamplingParams sampling_;
  RolloutFunction rollout_function_;
  TurnHandler* turns_ = nullptr;
  SuccessRates success_;
  Ahead ahead_;
  RewardBalance balance_;
  Metrics metrics_;
};

}  // namespace cohort
