#include "cohort/objectives/clip.h"

namespace cohort {

ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages, double epsilon,
                                   double epsilon_high) {
  const at::Tensor constant_ratio = ratio.detach();
  const at::Tensor clipped = ratio.clamp(1.0 - epsilon, 1.0 + epsilon_high);
  return {
      .loss = -at::minimum(ratio * advantages, clipped * advantages),
      .low_clipped = (constant_ratio < 1.0 - epsilon).logical_and(advantages < 0),
      .high_clipped = (constant_ratio > 1.0 + epsilon_high).logical_and(advantages > 0),
  };
}

}  // namespace cohort
