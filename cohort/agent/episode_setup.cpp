#include "cohort/agent/episode_setup.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

void warn_if_rewritten(bool keeps_turns) {
  if (keeps_turns) return;
  log_warn(
      "the chat template renders earlier turns of the assistant otherwise as a conversation goes on, for "
      "example without their reasoning. Episodes keep each turn as it was sampled: serve the model with a "
      "template that does so, too");
}

void warn_if_hidden(bool shows_tools) {
  if (shows_tools) return;
  log_warn(
      "the chat template writes no tools into prompts, so that the policy is not told of them: describe them "
      "in the prompts, or give model.chat_template a template that does");
}

}  // namespace

EpisodeSetup::EpisodeSetup(std::unique_ptr<Environment> environment, const EnvironmentConfig& config,
                           const AgentConfig& agent)
    : environment_(std::move(environment)), config_(config), agent_(agent) {
  check_agent(agent);
  if (environment_ != nullptr && agent.is_on())
    throw ConfigError("[agent] excludes [environment] and [[tool]]: agents have tools of their own");
}

void EpisodeSetup::add_reward(std::vector<RewardConfig>& rewards) const {
  const auto is_it = [](const RewardConfig& reward) { return reward.kind() == "environment"; };
  if (agent_.is_on() && rewards.empty()) rewards.push_back({.name = "environment"});
  if (environment_ == nullptr || !(environment_->gives_rewards() || environment_->gives_turn_rewards()))
    return;
  if (std::ranges::none_of(rewards, is_it)) rewards.push_back({.name = "environment"});
}

Json EpisodeSetup::tools() const { return environment_ == nullptr ? Json() : environment_->tools(); }

const ToolCallFormat& EpisodeSetup::calls_of(const TextFormat& format, bool has_tools) const {
  return config_.tool_call_format.empty() ? tool_call_format_of(format.template_source(has_tools))
                                          : find_tool_call_format(config_.tool_call_format);
}

void EpisodeSetup::open(const TextFormat& format, const Tokenizer& tokenizer, const DecoderConfig& model,
                        const SamplingParams& params) {
  if (environment_ != nullptr) open_environment(format, tokenizer, params.stop_token_ids);
  if (agent_.is_on()) open_agents(format, tokenizer, model, params);
}

void EpisodeSetup::open_environment(const TextFormat& format, const Tokenizer& tokenizer,
                                    const std::vector<int32_t>& stop_ids) {
  const Json tools = environment_->tools();
  format_.emplace(format, tokenizer, calls_of(format, !tools.is_null()), tools, stop_ids);
  warn_if_rewritten(format_->keeps_turns());
  warn_if_hidden(format_->shows_tools());
  episodes_.emplace(*environment_, *format_, config_.limits());
}

void EpisodeSetup::open_agents(const TextFormat& format, const Tokenizer& tokenizer,
                               const DecoderConfig& model, const SamplingParams& params) {
  agents_ = std::make_unique<Agents>();
  ServedModel& served = agents_->model;
  served = describe_served(agent_.model_name, model, tokenizer, format);
  served.calls = &calls_of(format, /*has_tools=*/true);
  served.defaults = params;
  agents_->episodes.emplace(agent_, served, agents_->hub, params.stop_token_ids);
  warn_if_rewritten(agents_->episodes->keeps_turns());
  agents_->server.emplace(agent_, served, agents_->hub);
  const std::string url = agents_->server->base_url();
  if (agent_.serve) {
    log_info("agents claim episodes at ", url, "/episodes/claim");
  } else {
    agents_->processes.emplace(agent_, url, agents_->hub);
  }
}

TurnHandler* EpisodeSetup::turns() {
  if (agents_ != nullptr) return &*agents_->episodes;
  return episodes_ ? &*episodes_ : nullptr;
}

}  // namespace cohort
