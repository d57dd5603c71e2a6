// The largest step that a run of `cohort train` may take, for the memory plan and the pages of the cache.
#pragma once

#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/types.h"
#include "cohort/tasks/dataset.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"

namespace cohort {

/// Completions of each prompt in an evaluation.
int64_t generations_eval(const TrainConfig& config);

/// The largest step of the training data; `has_episodes`: its completions wait for an environment.
StepShape step_shape(const TrainConfig& config, const Decoder& policy, const Dataset& data,
                     bool has_episodes);

/// Makes room in `shape` for evaluations of `prompts`, which may sample more completions at once than a step.
void add_evaluation(const TrainConfig& config, const Decoder& policy, const std::vector<Prompt>& prompts,
                    StepShape& shape);

/// Throws ConfigError naming rollout.cache_tokens if the cache is too small for a prompt of `data`.
void check_cache(const TrainConfig& config, const Dataset& data, const TextFormat& format,
                 const DecoderConfig& model);

}  // namespace cohort
