#include "cohort/train/run/loss_result.h"

namespace cohort {

void add_loss(const LossResult& more, LossResult& total) {
  total.objective.add(more.objective);
  total.rows.add(more.rows);
  total.entropy_sum += more.entropy_sum;
  if (more.aux_loss) total.aux_loss = total.aux_loss.value_or(0.0) + *more.aux_loss;
  total.num_forwarded_tokens += more.num_forwarded_tokens;
  total.logprob_difference_sum += more.logprob_difference_sum;
  const double largest = more.logprob_difference_max;
  if (!(largest <= total.logprob_difference_max)) total.logprob_difference_max = largest;  // a NaN, too
  if (total.is_finite && !more.is_finite) {
    total.is_finite = false;
    total.nonfinite = more.nonfinite;
  }
}

}  // namespace cohort
