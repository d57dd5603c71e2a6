#include "cohort/train/adversarial/adversarial_run.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/grpo/run_checks.h"
#include "cohort/train/grpo/run_sampling.h"
#include "cohort/train/run/generation_defaults.h"
#include "cohort/train/run/run_setup.h"
#include "cohort/train/run/self_test.h"

namespace cohort {
namespace {

/// The recipe with the reward of the defender's environment, if that gives one.
AdversarialConfig with_environment_reward(AdversarialConfig config, const EpisodeSetup& episodes) {
  episodes.add_reward(config.defender.recipe.reward);
  return config;
}

RewardTypes reward_types(const AdversarialConfig& config, const std::tm& start) {
  return all_rewards({config.model.path, start});
}

RewardTypes with_opponent(RewardTypes types, std::shared_ptr<PlayAttacks> play) {
  types.push_back(opponent_reward(std::move(play)));
  return types;
}

}  // namespace

AdversarialRun::AdversarialRun(const AdversarialConfig& config, const ResumeOptions& options)
    : episodes_(make_environment(config.defender.recipe.environment, config.defender.recipe.tool),
                config.defender.recipe.environment, AgentConfig{}),
      config_(checked(with_environment_reward(config, episodes_), options)),
      start_(run_start(config_.run, options)),
      base_(load_base(config_.model, /*is_frozen=*/true)),
      tokenizer_(require_tokenizer(config_.model.path, base_->config())),
      format_(format_for({})),
      defender_format_(format_for(episodes_.tools())),
      data_(open_prompts(config_.data, DataPart::kTrain, format_, base_->config())),
      num_steps_(num_steps(config_.train.max_steps, config_.train.num_train_epochs, data_.num_rows(),
                           config_.attacker.recipe.rollout.prompts_per_step)),
      prompts_(data_, format_, config_.seed, config_.data.shuffle_dataset, options.accepts("data")),
      defender_(config_.recipe_of(PolicyRole::kDefender), base_->share_frozen(),
                reward_types(config_, start_)),
      attacker_(config_.recipe_of(PolicyRole::kAttacker), std::move(base_),
                with_opponent(reward_types(config_, start_), play_)) {
  check_defender_prompts();
  open(options);
}

TextFormat AdversarialRun::format_for(const Json& tools) const {
  TextFormat format = text_format(*tokenizer_, config_.model.path, start_, text_settings(config_));
  format.tools = tools;
  return format;
}

// A row without a usable prompt of the defender is found before the first step.
void AdversarialRun::check_defender_prompts() const {
  const int64_t attack = config_.attacker.recipe.rollout.max_completion_length;
  const int64_t longest =
      std::min(config_.defender.max_prompt_length, defender_.policy->config().context_length - 1);
  data_.for_each_row([&](Row row) {
    const Prompt prompt = to_prompt(std::move(row), format_);
    check_defender_prompt(defender_prompt(prompt, {}, defender_format_), longest - attack);
  });
}

void AdversarialRun::open(const ResumeOptions& options) {
  const TrainConfig& defence = defender_.config;
  const DecoderConfig& model = defender_.policy->config();
  const int64_t defended = config_.defender.max_prompt_length + defence.rollout.max_completion_length;
  const int64_t attacked =
      data_.prompt_lengths().rbegin()->first + attacker_.config.rollout.max_completion_length;
  const int64_t longest = std::min(std::max(defended, attacked), model.context_length);
  for (PolicySide* side : {&attacker_, &defender_}) {
    side->policy->plan_length(longest);
    check_stop_strings(side->config.rollout.stop_strings, tokenizer_.get(),
                       side->config.rollout.skip_special_tokens);
    check_token_ids(side->config.rollout.stop_token_ids, "stop_token_ids", model);
  }
  check_supervision(attacker_.config, attacker_.scorer, /*has_states=*/false);
  check_supervision(defence, defender_.scorer, episodes_.gives_states());
  check_replies(attacker_.config, /*has_replies=*/false);
  check_replies(defence, episodes_.is_on());
  episodes_.open(defender_format_, *tokenizer_, model, run_sampling(defence, model, tokenizer_.get()));
  attacker_.make_trainer(prompts_, *tokenizer_, config_.steps_of(PolicyRole::kAttacker, num_steps_), nullptr);
  defender_.make_trainer(attacks_, *tokenizer_, config_.steps_of(PolicyRole::kDefender, num_steps_),
                         episodes_.turns());
  trainer_.emplace(config_, attacker_, defender_, attacks_, defender_format_, *tokenizer_, *play_);
  directory_.emplace(open_run(config_, options, start_));
  const double difference =
      std::max(sampler_trainer_difference(*attacker_.policy), sampler_trainer_difference(*defender_.policy));
  report_exactness(difference);
  for (PolicySide* side : {&attacker_, &defender_}) {
    check_mismatch_acts(side->config, difference);
    side->trainer->assume_exact(difference == 0.0);
  }
  log_ignored_sampling_defaults(config_.model.path);
  open_loop(config_, options, num_steps_, attacker_.optimizer);
}

Metrics AdversarialRun::evaluate_on(const std::vector<std::string>&) {
  throw ConfigError("a run of two policies has no evaluation: evaluate their adapters by cohort eval");
}

int run_adversarial(const AdversarialConfig& config, const ResumeOptions& options) {
  return AdversarialRun(config, options).run();
}

}  // namespace cohort
