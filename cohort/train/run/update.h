// One update of the weights by the gradients at hand.
#pragma once

#include "cohort/models/decoder.h"
#include "cohort/train/run/common_config.h"
#include "cohort/train/run/optimizer.h"

namespace cohort {

struct Update {
  double grad_norm = 0.0;
  double learning_rate = 0.0;
  bool is_finite = true;  ///< else nothing was changed
};

/// Takes the schedule's next step, of `num_updates`, unless the loss or the gradient is not finite.
Update update_weights(Decoder& model, AdamW& optimizer, const OptimizerConfig& config, int64_t num_updates,
                      double loss);

}  // namespace cohort
