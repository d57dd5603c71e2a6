#include "cohort/train/run/update.h"

#include <cmath>

#include "cohort/train/run/schedule.h"

namespace cohort {

Update update_weights(Decoder& model, AdamW& optimizer, const OptimizerConfig& config, int64_t num_updates,
                      double loss) {
  Update update;
  update.grad_norm = optimizer.grad_norm();
  update.learning_rate = learning_rate(config, optimizer.num_updates(), num_updates);
  update.is_finite = std::isfinite(loss) && std::isfinite(update.grad_norm);
  if (update.is_finite) {
    optimizer.step(update.learning_rate, update.grad_norm);
    model.refresh();
  }
  return update;
}

}  // namespace cohort
