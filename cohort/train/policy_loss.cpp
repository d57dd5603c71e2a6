#include "cohort/train/policy_loss.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "cohort/objectives/loss.h"
#include "cohort/objectives/whole_batch.h"
#include "cohort/train/batch_passes.h"
#include "cohort/train/value_pass.h"

namespace cohort {
namespace {

/// Whether the policy-gradient term is exactly zero.
bool has_no_advantage(const TrainedCompletion& trained) {
  const std::vector<float>& tokens = trained.token_advantages;
  if (tokens.empty()) return trained.advantage == 0.0;
  return std::all_of(tokens.begin(), tokens.end(), [](float advantage) { return advantage == 0.0f; });
}

/// Places of completions in the batch, by their address.
using Places = std::map<const Completion*, int64_t>;

Places places_of(std::span<const TrainedGroup> groups) {
  Places places;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion&) {
    places.emplace(&completion, std::ssize(places));
  });
  return places;
}

/// Per-token values of all completions with loss, one behind the other; undefined where there are none.
template <typename F>
at::Tensor joined(std::span<const TrainedGroup> groups, const at::TensorOptions& options, F values_of) {
  std::vector<float> all;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    if (loss_length(completion, trained) == 0) return;
    const std::vector<float>& values = values_of(completion, trained);
    all.insert(all.end(), values.begin(), values.end());
  });
  return all.empty() ? at::Tensor() : at::tensor(all).to(options);
}

/// Of completions, or of their tokens where one has advantages by token.
at::Tensor joined_advantages(std::span<const TrainedGroup> groups, bool is_per_token,
                             const at::TensorOptions& options) {
  std::vector<float> all;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    const int64_t length = loss_length(completion, trained);
    const auto whole = static_cast<float>(trained.advantage);
    if (!is_per_token) {
      all.push_back(whole);
    } else if (trained.token_advantages.empty()) {
      all.insert(all.end(), length, whole);
    } else if (length > 0) {
      all.insert(all.end(), trained.token_advantages.begin(), trained.token_advantages.end());
    }
  });
  return at::tensor(all, at::kFloat).to(options);
}

/// What the loss reads of the batch, all but the policy's log-probabilities.
LossInput batch_input(std::span<const TrainedGroup> groups, const at::TensorOptions& options) {
  LossInput input;
  std::vector<float> rewards;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    input.lengths.push_back(loss_length(completion, trained));
    rewards.push_back(static_cast<float>(trained.reward));
    input.is_expert.push_back(trained.is_expert);
    if (!trained.token_advantages.empty()) input.advantages_are_per_token = true;
  });
  input.group_ends = group_ends_of(groups);
  if (std::ranges::count(input.is_expert, 1) == 0) input.is_expert.clear();
  if (const auto betas = betas_of(groups); !betas.empty())
    input.betas = at::tensor(betas, at::kDouble).to(options);
  input.advantages = joined_advantages(groups, input.advantages_are_per_token, options);
  input.rewards = at::tensor(rewards, at::kFloat).to(options);
  using Trained = const TrainedCompletion&;
  // The sampler is exact: its log-probabilities are the policy's before the update.
  input.old_logprobs = joined(groups, options, [](const Completion& completion, Trained) -> auto& {
    return completion.sampler_logprobs;
  });
  if (!input.old_logprobs.defined()) input.old_logprobs = at::empty({0}, options);
  input.sampler_logprobs = input.old_logprobs;
  input.ref_logprobs = joined(
      groups, options, [](const Completion&, Trained trained) -> auto& { return trained.ref_logprobs; });
  input.entropies =
      joined(groups, options, [](const Completion&, Trained trained) -> auto& { return trained.entropies; });
  return input;
}

/// What a critic on the policy's rows learns from.
void add_returns(std::span<const TrainedGroup> groups, LossInput& input) {
  const at::TensorOptions options = input.old_logprobs.options();
  using Trained = const TrainedCompletion&;
  const auto joined_or_none = [&](auto values_of) {
    const at::Tensor values = joined(groups, options, values_of);
    return values.defined() ? values : at::empty({0}, options);
  };
  input.old_values =
      joined_or_none([](const Completion&, Trained trained) -> auto& { return trained.values; });
  input.returns = joined_or_none([](const Completion&, Trained trained) -> auto& { return trained.returns; });
}

/// The values of each of these completions without gradient: f(completion, log-probabilities, entropies),
/// one float a token each.
template <typename F>
void forward_completions(const Decoder& decoder, const std::vector<PackGroup>& forwarded,
                         const LossOptions& options, F f) {
  const at::NoGradGuard no_grad;
  const auto pieces = cut_into_microbatches(forwarded, options.tokens_per_microbatch.most);
  for_each_batch(pieces, 0.0, options, decoder, [&](int64_t, const PackedBatch& batch) {
    const TokenLogprobs values = packed_logprobs(decoder, batch, options.temperature);
    const at::Tensor logprobs = values.logprobs.cpu().to(at::kFloat);
    const at::Tensor entropies = values.entropies.cpu().to(at::kFloat);
    int64_t first = 0;
    for (const Completion* completion : batch.completions) {
      f(completion, logprobs.const_data_ptr<float>() + first, entropies.const_data_ptr<float>() + first);
      first += std::ssize(completion->token_ids);
    }
  });
}

/// The policy's log-probabilities of the batch's loss tokens as they are now.
at::Tensor current_logprobs(const Decoder& policy, std::span<const TrainedGroup> groups,
                            const LossInput& input, const LossOptions& options) {
  const Places places = places_of(groups);
  std::vector<int64_t> begins = {0};
  for (const int64_t length : input.lengths) begins.push_back(begins.back() + length);
  std::vector<float> values(begins.back());
  forward_completions(policy, forwarded_groups(groups, has_loss), options,
                      [&](const Completion* completion, const float* logprobs, const float*) {
                        std::copy_n(logprobs, completion->token_ids.size(),
                                    values.begin() + begins[places.at(completion)]);
                      });
  return at::tensor(values).to(input.old_logprobs.options());
}

/// The setting, or, where a term needs groups whole, what the largest one takes.
MicrobatchRows rows_at_once(const std::vector<PackGroup>& groups, const LossConfig& objective,
                            const LossOptions& options) {
  MicrobatchRows rows = options.tokens_per_microbatch;
  if (!needs_whole_groups(objective)) return rows;
  for (const PackGroup& group : groups) rows.most = std::max(rows.most, num_rows(group));
  return rows;
}

/// Tokens whose forward pass was saved count as tokens that are not clipped.
void add_skipped_tokens(std::span<const TrainedGroup> groups, LossMetrics& metrics) {
  if (!metrics.has("clip_ratio/low_mean")) return;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    const int64_t length = loss_length(completion, trained);
    if (length == 0 || !has_no_advantage(trained)) return;
    for (const char* name : {"clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"})
      metrics.add_mean(name, 0.0, static_cast<double>(length));
    metrics.add_smallest("clip_ratio/low_min", 0.0);
  });
}

/// What a finite micro-batch says beside its loss.
void record(const PackedBatch& batch, const TokenLogprobs& values, const LossInput& input,
            LossResult& result) {
  at::Tensor difference = (input.policy_logprobs.detach() - input.old_logprobs).abs().to(at::kDouble);
  if (!input.is_expert.empty()) difference = difference * own_tokens(input);
  result.logprob_difference_sum += difference.sum().item<double>();
  result.logprob_difference_max = difference.max().item<double>();
  result.entropy_sum += values.entropies.to(at::kDouble).sum().item<double>();
  result.num_forwarded_tokens += values.logprobs.size(0);
  result.rows.add(batch.rows);
}

/// What the loss reads of an update, whole.
LossInput update_input(const Decoder& policy, std::span<const TrainedGroup> groups,
                       const LossConfig& objective, const LossOptions& options,
                       const LossCoefficients& coefficients) {
  LossInput input = batch_input(groups, at::TensorOptions(policy.device()).dtype(at::kFloat));
  take_coefficients(coefficients, input);
  if (reads_policy_before_cut(objective))
    input.policy_logprobs = current_logprobs(policy, groups, input, options);
  if (options.value_head != nullptr) add_returns(groups, input);
  input.whole = whole_batch_of(input, objective);
  return input;
}

/// The update that micro-batches are cut from.
struct UpdateScope {
  const Decoder& policy;
  const LossInput& input;
  const Places& places;
  const LossConfig& objective;
  const LossOptions& options;
};

/// Forward, loss and, where it is finite, backward of one micro-batch. `by_weights`: see weights_gradient.
LossResult train_on(const PackedBatch& batch, const UpdateScope& update, at::Tensor& by_weights) {
  const at::Tensor rows = predicting_rows(update.policy, batch);
  const TokenLogprobs values = packed_logprobs(update.policy, batch, rows, update.options.temperature);
  std::vector<int64_t> chosen;
  chosen.reserve(batch.completions.size());
  for (const Completion* completion : batch.completions) chosen.push_back(update.places.at(completion));
  LossInput part = loss_part(update.input, update.objective, chosen, values);
  const Linear* value_head = update.options.value_head;
  if (value_head != nullptr) part.values = token_values(*value_head, rows);
  const LossOutput output = policy_loss(part, update.objective);
  LossResult result;
  record(batch, values, part, result);
  result.objective = output.metrics;
  if (part.values.defined())
    record_value_loss(part.values.detach(), part.old_values, part.returns, update.objective.value_clip,
                      result.objective);
  if (!std::isfinite(output.loss.item<double>())) {
    result.is_finite = false;
    result.nonfinite = batch.completions;
    return result;
  }
  output.loss.backward();
  by_weights = weights_gradient(part, chosen, std::ssize(update.input.lengths));
  if (update.options.router_aux_loss_coef != 0.0) result.aux_loss = batch.balance.loss;
  return result;
}

}  // namespace

std::vector<int64_t> group_ends_of(std::span<const TrainedGroup> groups) {
  std::vector<int64_t> ends;
  for (const TrainedGroup& group : groups)
    ends.push_back((ends.empty() ? 0 : ends.back()) + std::ssize(group.completions));
  return ends;
}

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

LossMetrics empty_loss_metrics(const LossConfig& objective, const LossCoefficients& coefficients) {
  LossInput nothing;
  take_coefficients(coefficients, nothing);
  nothing.policy_logprobs = nothing.advantages = nothing.old_logprobs = nothing.sampler_logprobs =
      nothing.ref_logprobs = nothing.entropies = nothing.rewards = nothing.values = nothing.old_values =
          nothing.returns = at::empty({0});
  LossMetrics metrics = policy_loss(nothing, objective).metrics;
  if (objective.value_coef != 0.0)
    record_value_loss(nothing.values, nothing.values, nothing.values, objective.value_clip, metrics);
  return metrics;
}

LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const TrainedGroup> groups,
                                      const LossConfig& objective, const LossOptions& options,
                                      const LossCoefficients& coefficients) {
  const LossInput input = update_input(policy, groups, objective, options, coefficients);
  const Places places = places_of(groups);
  const bool all_are_forwarded = trains_without_advantage(objective, input);
  const std::vector<PackGroup> forwarded =
      forwarded_groups(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
        return has_loss(completion, trained) && (all_are_forwarded || !has_no_advantage(trained));
      });
  const auto pieces = cut_into_microbatches(forwarded, rows_at_once(forwarded, objective, options));
  const double balance = balance_weight(policy.config(), forwarded, options.router_aux_loss_coef);
  const UpdateScope update{policy, input, places, objective, options};
  std::vector<LossResult> results(pieces.size());
  std::vector<at::Tensor> weights_gradients(pieces.size());
  std::atomic<int64_t> first_nonfinite = std::ssize(pieces);
  for_each_batch(pieces, balance, options, policy, [&](int64_t i, const PackedBatch& batch) {
    if (i > first_nonfinite) return;
    results[i] = train_on(batch, update, weights_gradients[i]);
    if (results[i].is_finite) return;
    for (int64_t first = first_nonfinite; i < first && !first_nonfinite.compare_exchange_weak(first, i);) {
    }
  });
  LossResult total;
  total.objective = empty_loss_metrics(objective, coefficients);
  if (options.router_aux_loss_coef != 0.0) total.aux_loss = 0.0;
  for (const LossResult& result : results) {
    add_loss(result, total);
    if (!total.is_finite) break;
  }
  if (!all_are_forwarded) add_skipped_tokens(groups, total.objective);
  if (coefficients.length_preference && total.is_finite)
    total.length_preference_gradient = length_preference_gradient(input, weights_gradients);
  return total;
}

namespace {

using TokenField = std::vector<float> TrainedCompletion::*;

/// Fills a field of the completions in `forwarded`.
void fill_field(const Decoder& decoder, std::span<TrainedGroup> groups,
                const std::vector<PackGroup>& forwarded, const LossOptions& options, TokenField field,
                bool is_entropy) {
  std::map<const Completion*, TrainedCompletion*> targets;
  for (TrainedGroup& group : groups) {
    for (size_t i = 0; i < group.completions.size(); ++i)
      targets[&group.group->completions[i]] = &group.completions[i];
  }
  forward_completions(
      decoder, forwarded, options,
      [&](const Completion* completion, const float* logprobs, const float* entropies) {
        const float* values = is_entropy ? entropies : logprobs;
        (targets.at(completion)->*field).assign(values, values + completion->token_ids.size());
      });
}

}  // namespace

void fill_ref_logprobs(const Decoder& reference, std::span<TrainedGroup> groups, const LossOptions& options,
                       bool masked_too) {
  fill_field(reference, groups, forwarded_groups(groups, masked_too ? has_tokens : has_loss), options,
             &TrainedCompletion::ref_logprobs, /*is_entropy=*/false);
}

void fill_entropies(const Decoder& policy, std::span<TrainedGroup> groups, const LossOptions& options) {
  fill_field(policy, groups, forwarded_groups(groups, has_tokens), options, &TrainedCompletion::entropies,
             /*is_entropy=*/true);
}

}  // namespace cohort
