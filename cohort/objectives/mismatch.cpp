#include "cohort/objectives/mismatch.h"

#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/ratio_level.h"

namespace cohort {

at::Tensor mismatch_weights(const std::string& mode, const at::Tensor& old_logprobs,
                            const at::Tensor& sampler_logprobs, const Segments& completions,
                            std::optional<double> low, std::optional<double> high) {
  const bool is_truncated = mode == "token_truncate" || mode == "sequence_truncate";
  const bool is_of_sequence = mode == "sequence_mask" || mode == "sequence_truncate";
  COHORT_CHECK(is_truncated || is_of_sequence || mode == "token_mask", "mode is ", mode);
  const at::Tensor sampler = sampler_logprobs.detach();
  const at::Tensor difference = (old_logprobs.detach() - sampler).masked_fill(sampler.isnan(), 0.0);
  const at::Tensor weights =
      is_of_sequence ? sequence_product_ratio(difference, completions) : token_ratio(difference);
  const double lowest = low.value_or(0.0);
  const double highest = high.value_or(std::numeric_limits<double>::infinity());
  if (is_truncated) return weights.clamp_min(lowest).clamp_max(highest);
  return weights.masked_fill((weights < lowest).logical_or(weights > highest), 0.0);
}

}  // namespace cohort
