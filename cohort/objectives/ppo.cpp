#include "cohort/objectives/ppo.h"

#include "cohort/core/error.h"
#include "cohort/objectives/clip.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/presets.h"
#include "cohort/objectives/ratio_level.h"

namespace cohort {

void PpoSurrogate::describe(FieldVisitor& f) {
  f("delta", delta,
    "ppo: cap of the ratio where the advantage is negative (two-sided clipping, arXiv:2505.07291; the same "
    "as dual-clip's c); above 1 + epsilon_high.",
    above(0.0));
}

void PpoSurrogate::advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const {
  const LossConfig& c = settings.loss;
  const RatioLevel& level = find_ratio_level(c.importance_sampling_level);
  if (level.is_geometric_mean && c.epsilon >= 0.05) {
    advice.push_back(str("epsilon is ", c.epsilon,
                         " for the geometric mean of a sequence's ratios, which hardly moves that far: GSPO "
                         "clips at 3e-4 and 4e-4"));
  }
  if (level.is_of_token && c.epsilon < 0.01) {
    advice.push_back(str("epsilon is ", c.epsilon, " for ratios of single tokens: nearly all are clipped"));
  }
  if (level.is_of_sequence && find_aggregation(c.aggregation).is_for_token_ratios) {
    advice.push_back(str("aggregation ", c.aggregation,
                         " weighs a sequence's ratio by its length: seq_mean_token_mean counts each sequence "
                         "once"));
  }
}

PolicyTerm PpoSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                              const LossConfig& config) const {
  ClipBounds bounds{.low = {}, .high = {}, .cap = delta};
  if (const auto width = config.lower_clip()) bounds.low = 1.0 - *width;
  if (const auto width = config.upper_clip()) bounds.high = 1.0 + *width;
  const ClippedSurrogate clipped = clipped_surrogate(ratio, view.advantages, bounds);
  return {clipped.loss, ratio, clipped.low_clipped, clipped.high_clipped};
}

}  // namespace cohort
