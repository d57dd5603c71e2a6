#include "cohort/objectives/clip.h"

namespace cohort {
namespace {

at::Tensor clamped(const at::Tensor& ratio, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) return ratio;
  return ratio.clamp(low ? std::optional<at::Scalar>(*low) : std::nullopt,
                     high ? std::optional<at::Scalar>(*high) : std::nullopt);
}

at::Tensor beyond(const std::optional<double>& bound, const at::Tensor& is_beyond) {
  return bound ? is_beyond : at::zeros_like(is_beyond);
}

}  // namespace

ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages, double epsilon,
                                   double epsilon_high) {
  return clipped_surrogate(ratio, advantages, {.low = 1.0 - epsilon, .high = 1.0 + epsilon_high, .cap = {}});
}

ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages,
                                   const ClipBounds& bounds) {
  const at::Tensor constant = ratio.detach();
  const at::Tensor capped = clamped(ratio, {}, bounds.cap);
  const at::Tensor clipped = clamped(ratio, bounds.low, bounds.high);
  const at::Tensor is_low = (constant < bounds.low.value_or(0.0)).logical_and(advantages < 0);
  const at::Tensor is_high = (constant > bounds.high.value_or(0.0)).logical_and(advantages > 0);
  return {
      .loss = -at::minimum(capped * advantages, clipped * advantages),
      .low_clipped = beyond(bounds.low, is_low),
      .high_clipped = beyond(bounds.high, is_high),
  };
}

}  // namespace cohort
