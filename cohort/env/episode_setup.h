// An environment with all that its episodes need of a model directory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cohort/env/environment_config.h"
#include "cohort/env/episodes.h"
#include "cohort/env/turn_format.h"
#include "cohort/rewards/reward_config.h"

namespace cohort {

class EpisodeSetup {
 public:
  /// `environment` may be null: completions then have one turn, and turns() is null.
  EpisodeSetup(std::unique_ptr<Environment> environment, const EnvironmentConfig& config);

  /// Adds the environment's reward to a recipe's, if it gives one and no table has it.
  void add_reward(std::vector<RewardConfig>& rewards) const;

  /// The schemas that prompts name; null if there are none.
  Json tools() const;

  /// Reads how the model's chat template writes turns. `stop_ids` end one; both references must outlive this.
  /// Throws UserError for a template that cannot be used.
  void open(const TextFormat& format, const Tokenizer& tokenizer, std::vector<int32_t> stop_ids);

  /// Null before open().
  TurnHandler* turns() { return episodes_ ? &*episodes_ : nullptr; }

  bool has_environment() const { return environment_ != nullptr; }

 private:
  std::unique_ptr<Environment> environment_;
  EnvironmentConfig config_;
  std::optional<TurnFormat> format_;
  std::optional<Episodes> episodes_;
};

}  // namespace cohort
