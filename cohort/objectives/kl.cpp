#include "cohort/objectives/kl.h"

#include <array>

#include "cohort/objectives/choices.h"
#include "cohort/objectives/loss_keys.h"
#include "cohort/objectives/ratio.h"

namespace cohort {
namespace {

at::Tensor k1(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  return policy_logprobs - ref_logprobs.detach();
}

at::Tensor k2(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  return 0.5 * k1(policy_logprobs, ref_logprobs).square();
}

at::Tensor k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  return kl_k3(policy_logprobs, ref_logprobs);
}

at::Tensor k3_plus(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  const at::Tensor slope = k2(policy_logprobs, ref_logprobs);
  return k3(policy_logprobs, ref_logprobs).detach() + (slope - slope.detach());
}

constexpr auto kEstimators = std::to_array<KlEstimator>({
#define KL_ESTIMATOR(id, Keys, words, ...) \
  {.name = #id, .text = words, .estimate = id __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/kl_estimators.def"
#undef KL_ESTIMATOR
});

}  // namespace

void K3Keys::describe(FieldVisitor& f) {
  f("use_bias_correction_kl", use_bias_correction,
    "Multiply k3 by the token's ratio, gradient included: the gradient of the reverse KL "
    "(arXiv:2512.02556).");
}

void KlEstimatorKeys::describe(FieldVisitor& f) {
#define KL_ESTIMATOR(id, Keys, ...) id.describe(f);
#include "cohort/objectives/kl_estimators.def"
#undef KL_ESTIMATOR
}

std::span<const KlEstimator> kl_estimators() { return kEstimators; }

const KlEstimator& find_kl_estimator(const std::string& name) {
  return find_choice(kEstimators, name, "estimator");
}

at::Tensor kl_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  const at::Tensor log_ratio = (ref_logprobs.detach() - policy_logprobs).clamp(-kMaxLogRatio, kMaxLogRatio);
  return log_ratio.expm1() - log_ratio;
}

at::Tensor kl_estimate(const std::string& estimator, const at::Tensor& policy_logprobs,
                       const at::Tensor& ref_logprobs) {
  return find_kl_estimator(estimator).estimate(policy_logprobs, ref_logprobs);
}

at::Tensor bias_corrected_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs,
                             const at::Tensor& ratio) {
  return ratio * kl_k3(policy_logprobs, ref_logprobs);
}

}  // namespace cohort
