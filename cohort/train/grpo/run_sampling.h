// How a run draws its completions: in rollouts, evaluations and the trial before step 1.
#pragma once

#include "cohort/sampler/sampling_keys.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort {

/// The parameters of `[rollout]`, with the model's stop tokens and the environment's limit of a turn.
inline SamplingParams run_sampling(const TrainConfig& config, const DecoderConfig& model,
                                   const Tokenizer* tokenizer) {
  SamplingParams params =
      sampling_params(config.rollout, stop_token_ids(model, tokenizer), tokenizer, "rollout.");
  params.max_turn_length = config.environment.max_turn_length.value_or(params.max_turn_length);
  return params;
}

}  // namespace cohort
