#include "cohort/train/grpo/loss_part.h"

#include "cohort/objectives/segments.h"

namespace cohort {

at::Tensor own_tokens(const LossInput& input) {
  const at::Device device = input.policy_logprobs.device();
  const at::Tensor is_demonstration = at::tensor(input.is_demonstration, at::kByte).to(device);
  return 1 - Segments(input.lengths, device).expand(is_demonstration);
}

void take_coefficients(const LossCoefficients& coefficients, LossInput& update) {
  update.entropy_coef = coefficients.entropy_coef;
  if (coefficients.length_preference)
    update.length_preference =
        at::scalar_tensor(*coefficients.length_preference, at::kDouble).requires_grad_();
}

bool trains_without_advantage(const LossConfig& c, const LossInput& update) {
  return update.entropy_coef || (c.beta != 0.0 && c.is_kl_in_loss()) ||
         surrogate_of(c).traits().trains_without_advantage || c.entropy_coef != 0.0 || c.nll_coef != 0.0 ||
         c.echo_coef != 0.0 || c.dpo_coef != 0.0 || c.value_coef != 0.0 || c.log_ratio_penalty != 0.0 ||
         c.kl_cov_ratio != 0.0 || c.kl_budget_coef != 0.0;
}

LossInput loss_part(const LossInput& update, const LossConfig& objective, const std::vector<int64_t>& chosen,
                    const TokenLogprobs& values) {
  LossInput part = select_completions(update, chosen);
  part.policy_logprobs = values.logprobs;
  const double entropy_coef = part.entropy_coef.value_or(objective.entropy_coef);
  if (entropy_coef != 0.0) {
    part.entropies = values.entropies;
  } else if (part.entropy_coef) {
    part.entropies = values.entropies.detach();  // measured alone
  }
  if (part.length_preference.defined()) {
    at::Tensor& weights = part.whole->completion_weights;
    weights = weights.detach().requires_grad_();
  }
  return part;
}

at::Tensor weights_gradient(const LossInput& part, const std::vector<int64_t>& chosen,
                            int64_t num_completions) {
  if (!part.length_preference.defined()) return {};
  const at::Tensor gradient = part.whole->completion_weights.grad();
  const at::Tensor places = at::tensor(chosen, at::kLong).to(gradient.device());
  return at::zeros({num_completions}, gradient.options()).index_copy(0, places, gradient);
}

double length_preference_gradient(const LossInput& update, const std::vector<at::Tensor>& weights_gradients) {
  const at::Tensor& weights = update.whole->completion_weights;
  at::Tensor sum = at::zeros_like(weights.detach());
  for (const at::Tensor& gradient : weights_gradients) {
    if (gradient.defined()) sum += gradient;
  }
  weights.backward(sum);
  return update.length_preference.grad().item<double>();
}

}  // namespace cohort
