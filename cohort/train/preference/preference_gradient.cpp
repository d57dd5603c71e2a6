#include "cohort/train/preference/preference_gradient.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/train/run/microbatches.h"
#include "cohort/train/run/packing.h"

namespace cohort {
namespace {

std::vector<PackGroup> groups_of(const std::vector<PreferenceExample>& batch) {
  std::vector<PackGroup> groups;
  groups.reserve(batch.size());
  for (const PreferenceExample& example : batch)
    groups.push_back({&example.prompt_ids, {&example.completions[0], &example.completions[1]}});
  return groups;
}

/// Calls f(i, first pair, packed batch) for each micro-batch; see microbatches.h.
template <typename F>
void for_each_packed(const WeightSnapshot& weights, const std::vector<PackGroup>& groups,
                     const PreferenceOptions& options, F f) {
  const Decoder& decoder = weights.decoder();
  int64_t rows = options.tokens_per_microbatch;  // or what the largest pair takes, so that none is cut
  for (const PackGroup& group : groups) rows = std::max(rows, num_rows(group));
  const auto pieces = cut_into_microbatches(groups, rows);
  std::vector<size_t> first_pair{0};
  for (const auto& piece : pieces) first_pair.push_back(first_pair.back() + piece.size());
  for_each_microbatch(decoder, std::ssize(pieces), [&](int64_t i) {
    const auto packed = pack(pieces[i], decoder.options());
    packed->input.adapters = weights.adapters();
    packed->input.recompute = options.recompute;
    f(i, first_pair[i], *packed);
  });
}

std::vector<int64_t> completion_lengths(const PackedBatch& packed) {
  std::vector<int64_t> lengths;
  lengths.reserve(packed.completions.size());
  for (const PackedCompletion& each : packed.completions) lengths.push_back(each.completion->num_sampled());
  return lengths;
}

/// Of one micro-batch.
PreferenceResult train_on_pairs(const Decoder& policy, PackedBatch& packed, const at::Tensor& ref_sums,
                                int64_t num_pairs, const PreferenceOptions& options) {
  const TokenLogprobs values = packed_logprobs(policy, packed, 1.0);
  const LossOutput output =
      preference_loss({values.logprobs, ref_sums, completion_lengths(packed), num_pairs}, options.objective);
  PreferenceResult result{.metrics = output.metrics};
  result.metrics.add_mean("entropy", values.entropies.sum(at::kDouble).item<double>(),
                          static_cast<double>(values.entropies.size(0)));
  result.loss = output.metrics.values().at("loss");
  if (!at::GradMode::is_enabled() || !std::isfinite(result.loss)) return result;
  output.loss.backward();
  if (options.router_aux_loss_coef != 0.0) result.aux_loss = packed.balance.loss;
  return result;
}

}  // namespace

std::vector<double> sequence_sums(const WeightSnapshot& weights, const std::vector<PreferenceExample>& batch,
                                  const PreferenceOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<double> sums(2 * batch.size());
  const auto sum_up = [&](int64_t, size_t first_pair, const PackedBatch& packed) {
    const at::Tensor logprobs = packed_logprobs(weights.decoder(), packed, 1.0).logprobs;
    const at::Tensor values =
        sequence_logprobs(logprobs, completion_lengths(packed), options.objective.ld_alpha).cpu();
    std::copy_n(values.const_data_ptr<double>(), values.size(0), sums.begin() + 2 * first_pair);
  };
  for_each_packed(weights, groups_of(batch), options, sum_up);
  return sums;
}

PreferenceResult accumulate_preference_gradient(const Decoder& policy,
                                                const std::vector<PreferenceExample>& batch,
                                                const std::vector<double>& ref_sums,
                                                const PreferenceOptions& options) {
  COHORT_CHECK(ref_sums.size() == (options.objective.reference_free ? 0 : 2 * batch.size()));
  const std::vector<PackGroup> groups = groups_of(batch);
  const double balance = at::GradMode::is_enabled()
                             ? balance_weight(policy.config(), groups, options.router_aux_loss_coef)
                             : 0.0;
  const at::Tensor reference = at::tensor(ref_sums, at::kDouble).to(policy.device());
  std::vector<PreferenceResult> results(batch.size());
  for_each_packed(policy, groups, options, [&](int64_t i, size_t first_pair, PackedBatch& packed) {
    packed.balance_experts(balance);
    const auto first = 2 * static_cast<int64_t>(first_pair);
    const at::Tensor ref =
        ref_sums.empty() ? at::Tensor() : reference.narrow(0, first, std::ssize(packed.completions));
    results[i] = train_on_pairs(policy, packed, ref, std::ssize(batch), options);
  });
  PreferenceResult total;
  if (options.router_aux_loss_coef != 0.0 && at::GradMode::is_enabled()) total.aux_loss = 0.0;
  for (const PreferenceResult& result : results) {
    total.metrics.add(result.metrics);
    total.loss += result.loss;
    if (result.aux_loss) *total.aux_loss += *result.aux_loss;
  }
  for (const PreferenceExample& example : batch) {
    for (const Completion& completion : example.completions)
      total.num_tokens += std::ssize(example.prompt_ids) + std::ssize(completion.token_ids);
  }
  return total;
}

}  // namespace cohort
