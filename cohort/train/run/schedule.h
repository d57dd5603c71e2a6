// The learning rate of each update: a warm-up and one of transformers' schedules.
#pragma once

#include <cstdint>

#include "cohort/train/run/common_config.h"

namespace cohort {

/// The rate of update `update` (from 0) of `num_updates`. The rate rises linearly from 0 over the warm-up;
/// then `lr_scheduler_type` decides, as the schedule of that name in transformers does.
double learning_rate(const OptimizerConfig& config, int64_t update, int64_t num_updates);

/// Throws ConfigError for keys of the schedule that contradict each other or are missing.
void check_schedule(const OptimizerConfig& config);

}  // namespace cohort
