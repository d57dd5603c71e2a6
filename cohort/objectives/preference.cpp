#include "cohort/objectives/preference.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/segments.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

/// 1 up to the length of the pair's shorter completion, `ld_alpha` behind it; [M] float64.
at::Tensor length_weights(const std::vector<int64_t>& lengths, double ld_alpha) {
  std::vector<double> weights;
  weights.reserve(total_length(lengths));
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t shared = std::min(lengths[i], lengths[i ^ 1]);
    weights.insert(weights.end(), shared, 1.0);
    weights.insert(weights.end(), lengths[i] - shared, ld_alpha);
  }
  return at::tensor(weights, at::kDouble);
}

at::Tensor sigmoid_losses(const at::Tensor& lead, const PreferenceConfig& config) {
  return -at::log_sigmoid(config.beta * lead);
}

at::Tensor hinge_losses(const at::Tensor& lead, const PreferenceConfig& config) {
  return at::relu(1.0 - config.beta * lead);
}

at::Tensor squared_distances(const at::Tensor& lead, const PreferenceConfig& config) {
  return (lead - 1.0 / (2.0 * config.beta)).square();
}

at::Tensor robust_losses(const at::Tensor& lead, const PreferenceConfig& config) {
  const double flipped = config.label_smoothing;
  return ((1.0 - flipped) * sigmoid_losses(lead, config) + flipped * at::log_sigmoid(-config.beta * lead)) /
         (1.0 - 2.0 * flipped);
}

constexpr auto kPreferenceLosses = std::to_array<PreferenceLoss>({
#define PREFERENCE_LOSS(id, words, function, ...) \
  {.name = #id, .text = words, .losses = function __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/preference_losses.def"
#undef PREFERENCE_LOSS
});

/// Completion by completion [2 P] -> pair by pair, the first's less the second's [P].
at::Tensor first_less_second(const at::Tensor& values) {
  const at::Tensor pairs = values.view({-1, 2});
  return pairs.select(1, 0) - pairs.select(1, 1);
}

void record_pairs(const at::Tensor& logprobs, const at::Tensor& scores, double beta, LossMetrics& metrics) {
  const int64_t num_pairs = logprobs.size(0) / 2;
  const auto count = static_cast<double>(num_pairs);
  const auto add = [&](const char* name, const at::Tensor& values) {
    metrics.add_mean(name, values.sum().item<double>(), count);
  };
  const at::Tensor rewards = (beta * scores.detach()).view({-1, 2}), logps = logprobs.detach().view({-1, 2});
  const at::Tensor margins = rewards.select(1, 0) - rewards.select(1, 1);
  add("rewards/chosen", rewards.select(1, 0));
  add("rewards/rejected", rewards.select(1, 1));
  add("rewards/accuracies", (rewards.select(1, 0) > rewards.select(1, 1)).to(at::kDouble));
  add("rewards/margins", margins);
  add("logps/chosen", logps.select(1, 0));
  add("logps/rejected", logps.select(1, 1));
}

}  // namespace

std::span<const PreferenceLoss> preference_losses() { return kPreferenceLosses; }

const PreferenceLoss& find_preference_loss(const std::string& name) {
  return find_choice(kPreferenceLosses, name, "loss_type");
}

void PreferenceConfig::describe(FieldVisitor& f) {
  f("beta", beta,
    "How strongly the policy is held to the reference: a pair's reward margin is beta times the difference "
    "of its log-ratios. Of `ipo` the paper's tau.",
    above(0.0));
  f("loss_type", loss_type, list_choices("The loss of a pair.", preference_losses()).c_str(),
    one_of_names(preference_losses()));
  f("label_smoothing", label_smoothing, "For `robust`: the chance that a pair is the wrong way round.",
    at_least_below(0.0, 0.5));
  f("ld_alpha", ld_alpha,
    "Weight of the tokens by which a completion is longer than the other of its pair (LD-DPO, "
    "arXiv:2409.06411); unset or 1 treats all alike.",
    between(0.0, 1.0));
  f("reference_free", reference_free,
    "Leave the reference out: its log-probabilities count as 0, which stands for one that gives all "
    "completions the same; no second model is loaded and nothing holds the policy to the start.");
}

void check_preference_config(const PreferenceConfig& config) {
  if (config.label_smoothing != 0.0 && !find_preference_loss(config.loss_type).reads_label_smoothing) {
    throw ConfigError(str("objective.label_smoothing has no effect on loss_type = \"", config.loss_type,
                          "\"; set loss_type = \"robust\", or remove it"));
  }
}

at::Tensor sequence_logprobs(const at::Tensor& logprobs, const std::vector<int64_t>& lengths,
                             std::optional<double> ld_alpha) {
  COHORT_CHECK(lengths.size() % 2 == 0, lengths.size(), " completions are no pairs");
  check_shape(logprobs, {total_length(lengths)}, "sequence_logprobs");
  at::Tensor values = logprobs.to(at::kDouble);
  if (ld_alpha) values = values * length_weights(lengths, *ld_alpha).to(values.device());
  return Segments(lengths, values.device()).sum(values);
}

at::Tensor pair_losses(const at::Tensor& lead, const PreferenceConfig& config) {
  return find_preference_loss(config.loss_type).losses(lead, config);
}

LossOutput preference_loss(const PreferenceInput& input, const PreferenceConfig& config) {
  const at::Tensor logprobs = sequence_logprobs(input.policy_logprobs, input.lengths, config.ld_alpha);
  at::Tensor scores = logprobs;
  if (!config.reference_free) {
    check_shape(input.ref_sums, {std::ssize(input.lengths)}, "preference_loss: ref_sums");
    scores = logprobs - input.ref_sums.detach();
  }
  LossOutput output;
  record_pairs(logprobs, scores, config.beta, output.metrics);
  if (find_preference_loss(config.loss_type).is_per_token) {
    const at::Tensor tokens = at::tensor(input.lengths, at::kDouble).to(scores.device());
    scores = scores / tokens.clamp_min(1.0);
  }
  const int64_t num_pairs = input.num_pairs.value_or(std::ssize(input.lengths) / 2);
  const at::Tensor loss =
      pair_losses(first_less_second(scores), config).sum() / static_cast<double>(num_pairs);
  output.metrics.add_total("loss", loss.item<double>());
  output.loss = loss.to(input.policy_logprobs.scalar_type());
  return output;
}

}  // namespace cohort
