#include "cohort/train/grpo/policy_loss.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cohort/objectives/loss.h"
#include "cohort/objectives/segments.h"
#include "cohort/objectives/whole_batch.h"
#include "cohort/train/critic/value_pass.h"
#include "cohort/train/run/batch_passes.h"
#include "cohort/train/run/slots.h"

namespace cohort {
namespace {

/// Whether the policy-gradient term is exactly zero.
bool has_no_advantage(const Sample& sample) {
  const std::vector<float>& tokens = sample.token_advantages;
  if (tokens.empty()) return sample.advantage == 0.0;
  return std::all_of(tokens.begin(), tokens.end(), [](float advantage) { return advantage == 0.0f; });
}

/// A column of all samples with loss, one after the other; undefined if there are no values.
template <typename F>
at::Tensor joined(std::span<const Group> groups, const at::TensorOptions& options, F values_of) {
  std::vector<float> all;
  for_each_sequence(groups, [&](const Sample& sample) {
    if (sample.loss_length() == 0) return;
    const std::vector<float>& values = values_of(sample);
    all.insert(all.end(), values.begin(), values.end());
  });
  return all.empty() ? at::Tensor() : at::tensor(all).to(options);
}

/// The advantages of samples, or of their tokens if one sample has advantages by token.
at::Tensor joined_advantages(std::span<const Group> groups, bool is_per_token,
                             const at::TensorOptions& options) {
  std::vector<float> all;
  for_each_sequence(groups, [&](const Sample& sample) {
    const int64_t length = sample.loss_length();
    const auto whole = static_cast<float>(sample.advantage);
    if (!is_per_token) {
      all.push_back(whole);
    } else if (sample.token_advantages.empty()) {
      all.insert(all.end(), length, whole);
    } else if (length > 0) {
      all.insert(all.end(), sample.token_advantages.begin(), sample.token_advantages.end());
    }
  });
  return at::tensor(all, at::kFloat).to(options);
}

/// The sampled tokens of each turn of a completion.
void add_turns(const Completion& completion, std::vector<int64_t>& lengths) {
  int64_t begin = 0;
  for (const int64_t end : turn_ends(completion)) {
    const int64_t num_sampled = completion.num_sampled_before(end);
    lengths.push_back(num_sampled - begin);
    begin = num_sampled;
  }
}

/// Everything that the loss reads of the batch, except for the policy's log-probabilities.
LossInput batch_input(std::span<const Group> groups, const at::TensorOptions& options) {
  LossInput input;
  std::vector<float> rewards;
  for_each_sequence(groups, [&](const Sample& sample) {
    input.lengths.push_back(sample.loss_length());
    if (sample.loss_length() > 0) {
      add_turns(sample.completion, input.turn_lengths);
      for_each_reply_token(sample.completion, [&](int64_t) { ++input.num_reply_tokens; });
    }
    rewards.push_back(static_cast<float>(sample.reward));
    input.is_demonstration.push_back(sample.is_demonstration);
    if (!sample.token_advantages.empty()) input.advantages_are_per_token = true;
  });
  input.group_ends = group_ends_of(groups);
  if (std::ranges::count(input.is_demonstration, 1) == 0) input.is_demonstration.clear();
  if (const auto betas = betas_of(groups); !betas.empty())
    input.betas = at::tensor(betas, at::kDouble).to(options);
  input.advantages = joined_advantages(groups, input.advantages_are_per_token, options);
  input.rewards = at::tensor(rewards, at::kFloat).to(options);
  input.sampler_logprobs = joined(
      groups, options, [](const Sample& sample) -> auto& { return sample.completion.sampler_logprobs; });
  if (!input.sampler_logprobs.defined()) input.sampler_logprobs = at::empty({0}, options);
  input.old_logprobs =
      joined(groups, options, [](const Sample& sample) -> auto& { return sample.policy_logprobs(); });
  if (!input.old_logprobs.defined()) input.old_logprobs = at::empty({0}, options);
  input.ref_logprobs =
      joined(groups, options, [](const Sample& sample) -> auto& { return sample.ref_logprobs; });
  input.entropies = joined(groups, options, [](const Sample& sample) -> auto& { return sample.entropies; });
  if (total_length(input.lengths) == 0)  // such as where all completions are masked: no column is missing
    input.ref_logprobs = input.entropies = at::empty({0}, options);
  return input;
}

/// Adds the columns from which a critic on the policy's rows learns.
void add_returns(std::span<const Group> groups, LossInput& input) {
  const at::TensorOptions options = input.old_logprobs.options();
  const auto joined_or_none = [&](auto values_of) {
    const at::Tensor values = joined(groups, options, values_of);
    return values.defined() ? values : at::empty({0}, options);
  };
  input.old_values = joined_or_none([](const Sample& sample) -> auto& { return sample.values; });
  input.returns = joined_or_none([](const Sample& sample) -> auto& { return sample.returns; });
}

/// Calls f(place of a completion, its values) with a column of the batch's sampled tokens, [M].
template <typename F>
void for_each_completion(const at::Tensor& tokens, const PackedBatch& batch, F f) {
  const at::Tensor column = tokens.cpu().to(at::kFloat).contiguous();
  const float* value = column.const_data_ptr<float>();
  for (const PackedCompletion& packed : batch.completions) {
    const int64_t count = packed.completion->num_sampled();
    f(packed.place, std::span(value, static_cast<size_t>(count)));
    value += count;
  }
}

/// A column of these completions, by place: `of` picks the log-probabilities or the entropies of their
/// sampled tokens. Without gradient.
std::vector<std::vector<float>> forward_completions(const WeightSnapshot& weights,
                                                    const std::vector<PackGroup>& forwarded,
                                                    int64_t num_places, const LossOptions& options,
                                                    at::Tensor TokenLogprobs::* of) {
  const at::NoGradGuard no_grad;
  return shared_columns(forwarded, num_places, *options.processes, [&](const auto& own, auto& columns) {
    const auto pieces = cut_into_microbatches(own, options.tokens_per_microbatch.most);
    for_each_batch(pieces, 0.0, options, weights, [&](int64_t, const PackedBatch& batch) {
      const TokenLogprobs values = packed_logprobs(weights.decoder(), batch, options.temperature);
      for_each_completion(values.*of, batch, [&](int64_t place, std::span<const float> own) {
        columns[place].assign(own.begin(), own.end());
      });
    });
  });
}

/// Fills a column of the wanted samples; see forward_completions.
template <typename F>
void fill_column(const WeightSnapshot& weights, std::span<Group> groups, F is_wanted,
                 const LossOptions& options, at::Tensor TokenLogprobs::* of,
                 std::vector<float> Sample::* column) {
  const std::vector<Sample*> samples = samples_by_place(groups);
  const std::vector<PackGroup> forwarded = forwarded_groups(groups, is_wanted);
  auto columns = forward_completions(weights, forwarded, std::ssize(samples), options, of);
  for (const PackGroup& group : forwarded) {
    for (const PackedCompletion& packed : group.completions)
      samples[packed.place]->*column = std::move(columns[packed.place]);
  }
}

/// The policy's log-probabilities of the batch's loss tokens as they are now.
at::Tensor current_logprobs(const Decoder& policy, std::span<const Group> groups, const LossInput& input,
                            const LossOptions& options) {
  std::vector<float> values;
  const auto columns = forward_completions(policy, forwarded_groups(groups, has_loss),
                                           std::ssize(input.lengths), options, &TokenLogprobs::logprobs);
  for (const std::vector<float>& column : columns) values.insert(values.end(), column.begin(), column.end());
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
void add_skipped_tokens(std::span<const Group> groups, LossMetrics& metrics) {
  if (!metrics.has("clip_ratio/low_mean")) return;
  for_each_sequence(groups, [&](const Sample& sample) {
    const int64_t length = sample.loss_length();
    if (length == 0 || !has_no_advantage(sample)) return;
    for (const char* name : {"clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"})
      metrics.add_mean(name, 0.0, static_cast<double>(length));
    metrics.add_smallest("clip_ratio/low_min", 0.0);
  });
}

/// What a finite micro-batch says beside its loss.
void record(const PackedBatch& batch, const TokenLogprobs& values, const LossInput& input,
            LossResult& result) {
  at::Tensor difference = (input.policy_logprobs.detach() - input.sampler_logprobs).abs().to(at::kDouble);
  if (!input.is_demonstration.empty()) difference = difference * own_tokens(input);
  result.logprob_difference_sum += difference.sum().item<double>();
  result.logprob_difference_max = difference.max().item<double>();
  result.entropy_sum += values.entropies.to(at::kDouble).sum().item<double>();
  result.num_forwarded_tokens += values.logprobs.size(0);
  result.rows.add(batch.rows);
}

/// What the loss reads of an update, whole.
LossInput update_input(const Decoder& policy, std::span<const Group> groups, const LossConfig& objective,
                       const LossOptions& options, const LossCoefficients& coefficients) {
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
  const LossConfig& objective;
  const LossOptions& options;
  double balance;  // see balance_weight()
  MicrobatchRows rows;
};

/// Forward, loss and, where it is finite, backward of one micro-batch. `by_weights`: see weights_gradient.
LossResult train_on(const PackedBatch& batch, const UpdateScope& update, at::Tensor& by_weights) {
  const LossOptions& options = update.options;
  const at::Tensor hidden = update.policy.forward(batch.input);
  const at::Tensor rows = update.policy.head_input(hidden, batch.logit_rows);
  const TokenLogprobs values = packed_logprobs(update.policy, batch, rows, options.temperature);
  std::vector<int64_t> chosen;
  chosen.reserve(batch.completions.size());
  for (const PackedCompletion& packed : batch.completions) chosen.push_back(packed.place);
  LossInput part = loss_part(update.input, update.objective, chosen, values);
  if (update.objective.echo_coef != 0.0) part.reply_logprobs = reply_logprobs(update.policy, batch, hidden);
  const Linear* value_head = options.value_head;
  if (value_head != nullptr) part.values = token_values(*value_head, rows);
  if (options.loss) part.entropies = values.entropies;
  const LossOutput output = options.loss ? options.loss(part) : policy_loss(part, update.objective);
  LossResult result;
  record(batch, values, part, result);
  result.objective = output.metrics;
  if (part.values.defined())
    record_value_loss(part.values.detach(), part.old_values, part.returns, update.objective.value_clip,
                      result.objective);
  if (!std::isfinite(output.loss.item<double>())) {
    result.is_finite = false;
    for (const PackedCompletion& packed : batch.completions) result.nonfinite.push_back(*packed.completion);
    return result;
  }
  if (options.on_token_gradient) values.logprobs.retain_grad();
  output.loss.backward();
  if (options.on_token_gradient && values.logprobs.grad().defined())  // undefined if no term reads them
    for_each_completion(values.logprobs.grad(), batch, options.on_token_gradient);
  by_weights = weights_gradient(part, chosen, std::ssize(update.input.lengths));
  if (options.router_aux_loss_coef != 0.0) result.aux_loss = batch.balance.loss;
  return result;
}

/// The micro-batches of a slot, up to the first one whose loss is not finite.
SlotResult train_on_slot(const std::vector<PackGroup>& slot, const UpdateScope& update) {
  const auto pieces = cut_into_microbatches(slot, update.rows);
  std::vector<LossResult> results(pieces.size());
  std::vector<at::Tensor> weights_gradients(pieces.size());
  std::atomic<int64_t> first_nonfinite = std::ssize(pieces);
  for_each_batch(pieces, update.balance, update.options, update.policy,
                 [&](int64_t i, const PackedBatch& batch) {
                   if (i > first_nonfinite) return;
                   results[i] = train_on(batch, update, weights_gradients[i]);
                   if (results[i].is_finite) return;
                   for (int64_t first = first_nonfinite;
                        i < first && !first_nonfinite.compare_exchange_weak(first, i);) {
                   }
                 });
  SlotResult slot_result;
  for (size_t i = 0; i < results.size() && slot_result.loss.is_finite; ++i) {
    add_loss(results[i], slot_result.loss);
    at::Tensor& sum = slot_result.weights_gradient;
    if (const at::Tensor& more = weights_gradients[i]; more.defined())
      sum = sum.defined() ? sum + more : more;
  }
  return slot_result;
}

/// All that an update's backward gives a gradient.
std::vector<at::Tensor> leaves_of(const Decoder& policy, const LossOptions& options) {
  std::vector<at::Tensor> leaves = policy.parameters();
  if (const Linear* head = options.value_head; head != nullptr) {
    leaves.push_back(head->weight());
    leaves.push_back(head->bias());
  }
  return leaves;
}

}  // namespace

LossMetrics empty_loss_metrics(const LossConfig& objective, const LossCoefficients& coefficients) {
  LossInput nothing;
  take_coefficients(coefficients, nothing);
  nothing.policy_logprobs = nothing.advantages = nothing.old_logprobs = nothing.sampler_logprobs =
      nothing.ref_logprobs = nothing.reply_logprobs = nothing.entropies = nothing.rewards = nothing.values =
          nothing.old_values = nothing.returns = at::empty({0});
  LossMetrics metrics = policy_loss(nothing, objective).metrics;
  if (objective.value_coef != 0.0)
    record_value_loss(nothing.values, nothing.values, nothing.values, objective.value_clip, metrics);
  return metrics;
}

LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const Group> groups,
                                      const LossConfig& objective, const LossOptions& options,
                                      const LossCoefficients& coefficients) {
  const LossInput input = update_input(policy, groups, objective, options, coefficients);
  const bool all_are_forwarded = options.loss || trains_without_advantage(objective, input);
  int64_t place = -1;
  const std::vector<PackGroup> forwarded = forwarded_groups(groups, [&](const Sample& sample) {
    ++place;
    if (options.only && !options.only->holds(place)) return false;
    return has_loss(sample) && (all_are_forwarded || !has_no_advantage(sample));
  });
  const UpdateScope update{policy,
                           input,
                           objective,
                           options,
                           balance_weight(policy.config(), forwarded, options.router_aux_loss_coef),
                           rows_at_once(forwarded, objective, options)};
  const auto slots = cut_into_slots(forwarded, options.gradient_slots, needs_whole_groups(objective));
  const std::vector<SlotResult> results =
      run_slots(slots, leaves_of(policy, options), options,
                [&](const std::vector<PackGroup>& slot) { return train_on_slot(slot, update); });
  LossResult total;
  std::vector<at::Tensor> weights_gradients;
  if (!options.loss) total.objective = empty_loss_metrics(objective, coefficients);
  if (options.router_aux_loss_coef != 0.0) total.aux_loss = 0.0;
  for (const SlotResult& result : results) {
    add_loss(result.loss, total);
    if (!total.is_finite) break;
    weights_gradients.push_back(result.weights_gradient);
  }
  if (!all_are_forwarded) add_skipped_tokens(groups, total.objective);
  if (coefficients.length_preference && total.is_finite)
    total.length_preference_gradient = length_preference_gradient(input, weights_gradients);
  return total;
}

void fill_old_logprobs(const WeightSnapshot& policy, std::span<Group> groups, const LossOptions& options) {
  const auto has_policy = [](const Sample& sample) { return has_tokens(sample) && !sample.is_demonstration; };
  fill_column(policy, groups, has_policy, options, &TokenLogprobs::logprobs, &Sample::old_logprobs);
}

void fill_ref_logprobs(const WeightSnapshot& reference, std::span<Group> groups, const LossOptions& options,
                       bool masked_too) {
  fill_column(reference, groups, masked_too ? has_tokens : has_loss, options, &TokenLogprobs::logprobs,
              &Sample::ref_logprobs);
}

void fill_entropies(const WeightSnapshot& policy, std::span<Group> groups, const LossOptions& options) {
  fill_column(policy, groups, has_tokens, options, &TokenLogprobs::entropies, &Sample::entropies);
}

}  // namespace cohort
