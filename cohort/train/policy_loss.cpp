#include "cohort/train/policy_loss.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "cohort/core/error.h"
#include "cohort/objectives/aggregate.h"
#include "cohort/train/microbatches.h"

namespace cohort {
namespace {

/// What a completion brings into the loss, found by its address.
struct LossTerm {
  const TrainedCompletion* trained;
  double token_weight;
};

using LossTerms = std::map<const Completion*, LossTerm>;

/// Whether the policy-gradient term is exactly zero.
bool has_no_advantage(const TrainedCompletion& trained) {
  const std::vector<float>& tokens = trained.token_advantages;
  if (tokens.empty()) return trained.advantage == 0.0;
  return std::all_of(tokens.begin(), tokens.end(), [](float advantage) { return advantage == 0.0f; });
}

int64_t loss_length(const Completion& completion, const TrainedCompletion& trained) {
  return trained.is_masked ? 0 : static_cast<int64_t>(completion.token_ids.size());
}

/// Calls f(completion, trained) for all completions of `groups`.
template <typename F>
void for_each_completion(std::span<const TrainedGroup> groups, F f) {
  for (const TrainedGroup& group : groups) {
    for (size_t i = 0; i < group.completions.size(); ++i)
      f(group.group->completions[i], group.completions[i]);
  }
}

/// The weights of all completions, counted over the whole mini-batch.
LossTerms loss_terms(std::span<const TrainedGroup> groups, const ObjectiveConfig& objective,
                     int64_t max_completion_length) {
  std::vector<int64_t> lengths;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    lengths.push_back(loss_length(completion, trained));
  });
  const BatchCounts counts = count_batch(lengths);
  const LossType type = parse_loss_type(objective.loss_type);
  LossTerms terms;
  size_t next = 0;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    terms[&completion] = {&trained, token_weight(type, lengths[next++], counts, max_completion_length)};
  });
  return terms;
}

/// The completions that must be forwarded, by prompt.
std::vector<PackGroup> forwarded_groups(std::span<const TrainedGroup> groups, bool zero_advantage_too) {
  std::vector<PackGroup> packed;
  for (const TrainedGroup& group : groups) {
    PackGroup pack{&group.group->prompt.token_ids, {}};
    for (size_t i = 0; i < group.completions.size(); ++i) {
      const Completion& completion = group.group->completions[i];
      const TrainedCompletion& trained = group.completions[i];
      const bool has_gradient =
          loss_length(completion, trained) > 0 && (zero_advantage_too || !has_no_advantage(trained));
      if (has_gradient) pack.completions.push_back(&completion);
    }
    if (!pack.completions.empty()) packed.push_back(std::move(pack));
  }
  return packed;
}

/// Calls f(i, batch) for each packed piece, the first with i = 0; see microbatches.h.
template <typename F>
void for_each_batch(const std::vector<std::vector<PackGroup>>& pieces, double balance,
                    const LossOptions& options, const Decoder& decoder, F f) {
  for_each_microbatch(decoder, std::ssize(pieces), [&](int64_t i) {
    const bool repeats_prompt = i > 0 && pieces[i].front().prompt_ids == pieces[i - 1].back().prompt_ids;
    const auto batch = pack(pieces[i], decoder.device(), repeats_prompt);
    batch->input.recompute = options.recompute;
    batch->balance_experts(balance);
    f(i, *batch);
  });
}

/// Lays the per-token constants of a micro-batch beside its log-probabilities.
ObjectiveInput objective_input(const PackedBatch& batch, const LossTerms& terms,
                               const at::Tensor& policy_logprobs) {
  std::vector<float> old_logprobs, ref_logprobs, advantages;
  std::vector<double> weights;
  ObjectiveInput input;
  for (const Completion* completion : batch.completions) {
    const LossTerm& term = terms.at(completion);
    const size_t length = completion->token_ids.size();
    old_logprobs.insert(old_logprobs.end(), completion->sampler_logprobs.begin(),
                        completion->sampler_logprobs.end());
    ref_logprobs.insert(ref_logprobs.end(), term.trained->ref_logprobs.begin(),
                        term.trained->ref_logprobs.end());
    const std::vector<float>& own = term.trained->token_advantages;
    if (own.empty()) {
      advantages.insert(advantages.end(), length, static_cast<float>(term.trained->advantage));
    } else {
      advantages.insert(advantages.end(), own.begin(), own.end());
    }
    weights.insert(weights.end(), length, term.token_weight);
    input.completion_lengths.push_back(static_cast<int64_t>(length));
  }
  const auto options = policy_logprobs.options().requires_grad(false);
  input.policy_logprobs = policy_logprobs;
  input.old_logprobs = at::tensor(old_logprobs).to(options);
  if (!ref_logprobs.empty()) input.ref_logprobs = at::tensor(ref_logprobs).to(options);
  input.advantages = at::tensor(advantages).to(options);
  input.token_weights = at::tensor(weights, at::kDouble).to(policy_logprobs.device());
  return input;
}

/// What a finite micro-batch says beside its loss.
void record(const PackedBatch& batch, const TokenLogprobs& values, const ObjectiveInput& input,
            LossResult& result) {
  const at::Tensor difference = (input.policy_logprobs.detach() - input.old_logprobs).abs().to(at::kDouble);
  result.logprob_difference_sum += difference.sum().item<double>();
  result.logprob_difference_max = difference.max().item<double>();
  result.entropy_sum += values.entropies.to(at::kDouble).sum().item<double>();
  result.num_forwarded_tokens += values.logprobs.size(0);
  result.rows.add(batch.rows);
}

}  // namespace

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

LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const TrainedGroup> groups,
                                      const ObjectiveConfig& objective, const LossOptions& options) {
  const LossTerms terms = loss_terms(groups, objective, options.max_completion_length);
  const bool has_kl = objective.beta != 0.0;
  const std::vector<PackGroup> forwarded = forwarded_groups(groups, has_kl);
  const auto pieces = cut_into_microbatches(forwarded, options.tokens_per_microbatch);
  const double balance = balance_weight(policy.config(), forwarded, options.router_aux_loss_coef);
  std::vector<LossResult> results(pieces.size());
  std::atomic<int64_t> first_nonfinite = std::ssize(pieces);
  for_each_batch(pieces, balance, options, policy, [&](int64_t i, const PackedBatch& batch) {
    if (i > first_nonfinite) return;
    const TokenLogprobs values = packed_logprobs(policy, batch, options.temperature);
    const ObjectiveInput input = objective_input(batch, terms, values.logprobs);
    const ObjectiveOutput output = grpo_objective(input, objective);
    LossResult& result = results[i];
    record(batch, values, input, result);
    result.objective = output.metrics;
    if (!std::isfinite(output.metrics.loss)) {
      for (int64_t first = first_nonfinite; i < first && !first_nonfinite.compare_exchange_weak(first, i);) {
      }
      result.is_finite = false;
      result.nonfinite = batch.completions;
      return;
    }
    output.loss.backward();
    if (options.router_aux_loss_coef != 0.0) result.aux_loss = batch.balance.loss;
  });
  LossResult total;
  if (options.router_aux_loss_coef != 0.0) total.aux_loss = 0.0;
  for (const LossResult& result : results) {
    add_loss(result, total);
    if (!total.is_finite) break;
  }
  if (!has_kl) {
    for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
      if (has_no_advantage(trained)) total.objective.add_skipped_completion(loss_length(completion, trained));
    });
  }
  return total;
}

void fill_ref_logprobs(const Decoder& reference, std::span<TrainedGroup> groups, const LossOptions& options) {
  const at::NoGradGuard no_grad;
  std::map<const Completion*, TrainedCompletion*> targets;
  for (TrainedGroup& group : groups) {
    for (size_t i = 0; i < group.completions.size(); ++i) {
      targets[&group.group->completions[i]] = &group.completions[i];
    }
  }
  const std::vector<PackGroup> forwarded = forwarded_groups(groups, true);
  const auto pieces = cut_into_microbatches(forwarded, options.tokens_per_microbatch);
  for_each_batch(pieces, 0.0, options, reference, [&](int64_t, const PackedBatch& batch) {
    const at::Tensor values =
        packed_logprobs(reference, batch, options.temperature).logprobs.cpu().to(at::kFloat);
    const float* value = values.const_data_ptr<float>();
    for (const Completion* completion : batch.completions) {
      targets.at(completion)->ref_logprobs.assign(value, value + completion->token_ids.size());
      value += completion->token_ids.size();
    }
  });
}

}  // namespace cohort
