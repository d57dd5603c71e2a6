// The critic of PPO: what states are worth, for the advantages; it learns beside the policy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "cohort/models/decoder.h"
#include "cohort/records/tensorboard.h"
#include "cohort/rl/batch.h"
#include "cohort/train/critic/critic_config.h"
#include "cohort/train/run/checkpoint.h"
#include "cohort/train/run/loss_result.h"
#include "cohort/train/run/optimizer.h"

namespace cohort {

class Critic {
 public:
  /// A model of its own, or a head on the last hidden state of `policy`, which must outlive this, that begins
  /// at 0. Its scores are float32 products (float64 under float64). `processes` share its passes. Throws
  /// UserError for a model that cannot judge the policy's tokens.
  Critic(const CriticSetup& config, const Decoder& policy, int64_t num_updates,
         dist::Group& processes = dist::alone());

  /// Begins step `index`, counted from 1.
  CriticPhase begin(int64_t index);

  /// The head that learns in the policy's own pass in this step; null where `update` is due.
  const Linear* joint_head() const;

  /// Fills `values` of all samples.
  void fill_values(std::span<Group> groups) const;

  /// One update in a pass of its own; left out where loss or gradient are not finite, as the result says.
  LossResult update(std::span<const Group> mini_batch);

  /// Around a pass that adds to the gradients. `step` returns whether they were finite.
  void zero_grad() { optimizer_.zero_grad(); }
  bool step();

  /// `critic/*` of the step; null in one without the critic.
  Metrics metrics(std::span<const Group> groups) const;

  /// What a checkpoint holds of it; `refresh` is due after it was restored.
  TrainedPart part();
  void refresh();

  /// Null for a head.
  Decoder* model() const { return model_.get(); }

  /// Writes a model's directory, which `critic.path` may name. Nothing for a head.
  void save(const std::filesystem::path& directory) const;

 private:
  const Decoder& trunk() const { return model_ != nullptr ? *model_ : policy_; }

  CriticConfig config_;
  std::string source_;
  OptimizerConfig optimizer_config_;
  LossConfig loss_;
  double share_;  // objective.critic_share
  const Decoder& policy_;
  int64_t num_updates_;
  std::unique_ptr<Decoder> model_;
  LossOptions options_;
  Linear head_;
  AdamW optimizer_;
  CriticPhase phase_;
  double grad_norm_ = 0.0;  // of the last update
  double learning_rate_ = 0.0;
};

}  // namespace cohort
