#include "cohort/env/episode_setup.h"

#include <algorithm>

namespace cohort {

EpisodeSetup::EpisodeSetup(std::unique_ptr<Environment> environment, const EnvironmentConfig& config)
    : environment_(std::move(environment)), config_(config) {}

void EpisodeSetup::add_reward(std::vector<RewardConfig>& rewards) const {
  if (environment_ == nullptr || !environment_->gives_rewards()) return;
  const auto is_it = [](const RewardConfig& reward) { return reward.kind() == "environment"; };
  if (std::ranges::none_of(rewards, is_it)) rewards.push_back({.name = "environment"});
}

Json EpisodeSetup::tools() const { return environment_ == nullptr ? Json() : environment_->tools(); }

void EpisodeSetup::open(const TextFormat& format, const Tokenizer& tokenizer, std::vector<int32_t> stop_ids) {
  if (environment_ == nullptr) return;
  const Json tools = environment_->tools();
  const ToolCallFormat& calls = config_.tool_call_format.empty()
                                    ? tool_call_format_of(format.template_source(!tools.is_null()))
                                    : find_tool_call_format(config_.tool_call_format);
  format_.emplace(format, tokenizer, calls, tools, std::move(stop_ids));
  episodes_.emplace(*environment_, *format_, config_.limits());
}

}  // namespace cohort
