#include "cohort/train/grpo/reference.h"

#include "cohort/core/error.h"

namespace cohort {

std::optional<WeightSnapshot> Reference::weights() const {
  if (decoder_ == nullptr) return std::nullopt;
  return WeightSnapshot(*decoder_, {.enabled = !is_policy_});
}

void Reference::after_update(const Decoder& policy, int64_t num_updates) {
  if (!moves() || num_updates % config_.ref_model_sync_steps != 0) return;
  COHORT_CHECK(!is_policy_);
  const at::NoGradGuard no_grad;
  const double alpha = config_.ref_model_mixup_alpha;
  for (size_t i = 0; i < policy.parameters().size(); ++i) {
    const at::Tensor &own = decoder_->parameters()[i], &other = policy.parameters()[i];
    if (alpha == 1.0) {
      own.copy_(other);
    } else {
      own.mul_(1.0 - alpha).add_(other, alpha);
    }
  }
  decoder_->refresh();
}

std::optional<TrainedPart> Reference::part() const {
  if (!moves()) return std::nullopt;
  return TrainedPart{"reference_", decoder_->named_weights(), nullptr};
}

void Reference::refresh() {
  if (moves()) decoder_->refresh();
}

}  // namespace cohort
