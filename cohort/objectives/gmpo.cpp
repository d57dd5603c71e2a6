#include "cohort/objectives/gmpo.h"

#include <limits>

#include "cohort/objectives/clip.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/ratio_level.h"

namespace cohort {

ClippedSurrogate gmpo_surrogate(const at::Tensor& log_ratio, const at::Tensor& advantages,
                                const Segments& completions, std::optional<double> low,
                                std::optional<double> high) {
  const double unbounded = std::numeric_limits<double>::infinity();
  const at::Tensor constant = log_ratio.detach();
  const double lowest = low ? -*low : -unbounded;
  const double highest = high.value_or(unbounded);
  const at::Tensor clipped =
      at::where(advantages >= 0, log_ratio.clamp_max(highest), log_ratio.clamp_min(lowest));
  return {
      .loss = -segment_mean_ratio(clipped, completions) * advantages.detach(),
      .low_clipped = (constant < lowest).logical_and(advantages < 0),
      .high_clipped = (constant > highest).logical_and(advantages > 0),
  };
}

PolicyTerm GmpoSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                               const LossConfig& config) const {
  const ClippedSurrogate clipped = gmpo_surrogate(view.log_ratio, view.advantages, view.completions,
                                                  config.lower_clip(), config.upper_clip());
  return {clipped.loss, ratio, clipped.low_clipped, clipped.high_clipped};
}

}  // namespace cohort
