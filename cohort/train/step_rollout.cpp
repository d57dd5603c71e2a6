#include "cohort/train/step_rollout.h"

#include "cohort/sampler/stop_ids.h"
#include "cohort/train/reward_timings.h"

namespace cohort {

StepRollout::StepRollout(const TrainConfig& config, const Decoder& policy, const Tokenizer* tokenizer,
                         PromptSource& prompts, RewardScorer& scorer)
    : config_(config.rollout),
      seed_(static_cast<uint64_t>(config.seed)),
      prompts_(prompts),
      scorer_(scorer),
      sampler_(policy, tokenizer, config.rollout.cache_tokens),
      sampling_(sampling_params(config.rollout, stop_token_ids(policy.config(), tokenizer))) {}

ScoredRollout StepRollout::draw(int64_t index, int64_t policy_version, StepTimer& timer) {
  const std::vector<Prompt> prompts = prompts_.next(config_.prompts_per_step);
  const RolloutAddress address{seed_, static_cast<uint64_t>(index), 0};
  const auto score = [&](int64_t group, int64_t sample, const Completion& completion) {
    scorer_.submit(group, sample, prompts[group], completion);
  };
  ScoredRollout result;
  result.groups =
      sampler_.rollout(prompts, config_.num_generations, sampling_, address, policy_version, score);
  timer.lap("timing_s/gen");

  const auto generation_end = RewardCall::Clock::now();
  std::vector<RewardCall> calls;
  result.rewards.reserve(result.groups.size());
  for (size_t g = 0; g < result.groups.size(); ++g) result.rewards.push_back(scorer_.take(g, &calls));
  result.weights = scorer_.weights(index);
  timer.lap("timing_s/reward");
  timer.add(reward_timings(scorer_.names(), calls, generation_end));
  return result;
}

SamplingParams sampling_params(const RolloutConfig& config, std::vector<int32_t> stop_token_ids) {
  return {.temperature = config.temperature,
          .top_k = config.top_k,
          .top_p = config.top_p,
          .min_p = config.min_p,
          .max_completion_length = config.max_completion_length,
          .ignore_eos = config.ignore_eos,
          .stop_token_ids = std::move(stop_token_ids),
          .stop_strings = config.stop_strings};
}

}  // namespace cohort
