#include "cohort/env/episode_setup.h"

#include <algorithm>

#include "cohort/core/log.h"

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
  if (!format_->keeps_turns()) {
    log_warn(
        "the chat template renders earlier turns of the assistant otherwise as a conversation goes on, for "
        "example without "
        "their reasoning. Episodes keep each turn as it was sampled: serve the model with a template that "
        "does so, too");
  }
  episodes_.emplace(*environment_, *format_, config_.limits());
}

}  // namespace cohort
