#include "cohort/objectives/aggregate.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

LossType parse_loss_type(const std::string& name) {
  if (name == "grpo") return LossType::kGrpo;
  if (name == "dapo") return LossType::kDapo;
  if (name == "dr_grpo") return LossType::kDrGrpo;
  throw ConfigError(str("loss_type is \"", name, "\": use grpo, dapo or dr_grpo"));
}

BatchCounts count_batch(std::span<const int64_t> loss_lengths) {
  BatchCounts counts;
  for (int64_t length : loss_lengths) {
    counts.num_completions += 1;
    counts.num_loss_tokens += length;
  }
  return counts;
}

double token_weight(LossType loss_type, int64_t loss_length, const BatchCounts& counts,
                    int64_t max_completion_length) {
  COHORT_CHECK(counts.num_completions > 0 && loss_length <= counts.num_loss_tokens);
  const double num_completions = static_cast<double>(counts.num_completions);
  switch (loss_type) {
    case LossType::kGrpo:
      return 1.0 / (num_completions * static_cast<double>(std::max<int64_t>(loss_length, 1)));
    case LossType::kDapo:
      return 1.0 / static_cast<double>(std::max<int64_t>(counts.num_loss_tokens, 1));
    case LossType::kDrGrpo:
      COHORT_CHECK(max_completion_length > 0);
      return 1.0 / (num_completions * static_cast<double>(max_completion_length));
  }
  COHORT_CHECK(false, "unknown loss type");
}

}  // namespace cohort
