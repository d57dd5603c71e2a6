#include "cohort/objectives/ratio_level.h"

#include "cohort/core/error.h"
#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor token_ratio(const at::Tensor& log_ratio) {
  return log_ratio.clamp(-kMaxLogRatio, kMaxLogRatio).exp();
}

at::Tensor segment_mean_ratio(const at::Tensor& log_ratio, const Segments& segments) {
  return segments.expand(token_ratio(segments.mean(log_ratio)));
}

at::Tensor sequence_mean_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return completions.expand(completions.mean(token_ratio(log_ratio)));
}

at::Tensor sequence_product_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return completions.expand(token_ratio(completions.sum(log_ratio)));
}

at::Tensor sequence_token_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return segment_mean_ratio(log_ratio.detach(), completions) * (log_ratio - log_ratio.detach()).exp();
}

at::Tensor ratio_at_level(const std::string& level, const at::Tensor& log_ratio, const Segments& completions,
                          const Segments* turns) {
  if (level == "token") return token_ratio(log_ratio);
  if (level == "sequence") return segment_mean_ratio(log_ratio, completions);
  if (level == "sequence_token") return sequence_token_ratio(log_ratio, completions);
  if (level == "sequence_mean") return sequence_mean_ratio(log_ratio, completions);
  if (level == "sequence_product") return sequence_product_ratio(log_ratio, completions);
  COHORT_CHECK(level == "turn" && turns != nullptr, "level is ", level);
  return segment_mean_ratio(log_ratio, *turns);
}

}  // namespace cohort
