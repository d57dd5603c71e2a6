#include "cohort/train/critic/value_pass.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cohort/objectives/value_loss.h"
#include "cohort/train/run/batch_passes.h"
#include "cohort/train/run/slots.h"

namespace cohort {
namespace {

using Samples = std::vector<const Sample*>;  // by place
using Column = std::vector<float> Sample::*;

/// A column's numbers for the tokens of a micro-batch.
at::Tensor token_numbers(const PackedBatch& batch, const Samples& samples, Column column,
                         const at::TensorOptions& options) {
  std::vector<float> all;
  all.reserve(batch.targets.token_ids.size());
  for (const PackedCompletion& packed : batch.completions) {
    const std::vector<float>& own = samples.at(packed.place)->*column;
    all.insert(all.end(), own.begin(), own.end());
  }
  return at::tensor(all, at::kFloat).to(options);
}

at::Tensor batch_values(const Decoder& trunk, const Linear& head, const PackedBatch& batch,
                        bool trains_trunk) {
  at::Tensor rows;
  {
    const at::AutoGradMode mode(at::GradMode::is_enabled() && trains_trunk);
    rows = predicting_rows(trunk, batch);
  }
  return token_values(head, rows);
}

/// Forward, loss and, where it is finite, backward of one micro-batch; a token weighs `weight`.
LossResult learn_values(const Decoder& trunk, const Linear& head, const PackedBatch& batch,
                        const Samples& samples, const ValueLoss& loss, double weight) {
  const at::Tensor values = batch_values(trunk, head, batch, loss.trains_trunk);
  const at::Tensor old_values = token_numbers(batch, samples, &Sample::values, values.options());
  const at::Tensor returns = token_numbers(batch, samples, &Sample::returns, values.options());
  const at::Tensor total =
      weight * clipped_value_loss(values, old_values, returns, loss.clip).sum(at::kDouble);
  LossResult result;
  record_value_loss(values.detach(), old_values, returns, loss.clip, result.objective);
  result.objective.add_total("value_loss", total.item<double>());
  if (std::isfinite(total.item<double>())) {
    total.backward();
  } else {
    result.is_finite = false;
    for (const PackedCompletion& packed : batch.completions) result.nonfinite.push_back(*packed.completion);
  }
  return result;
}

}  // namespace

at::Tensor token_values(const Linear& head, const at::Tensor& rows) {
  return head.forward(rows.to(head.weight().scalar_type())).squeeze(1);
}

void fill_values(const Decoder& trunk, const Linear& head, std::span<Group> groups,
                 const LossOptions& options) {
  const at::NoGradGuard no_grad;
  const std::vector<Sample*> samples = samples_by_place(groups);
  const auto compute = [&](const std::vector<PackGroup>& own, std::vector<std::vector<float>>& columns) {
    const auto pieces = cut_into_microbatches(own, options.tokens_per_microbatch.most);
    for_each_batch(pieces, 0.0, options, trunk, [&](int64_t, const PackedBatch& batch) {
      const at::Tensor values = batch_values(trunk, head, batch, false).to(at::kCPU, at::kFloat).contiguous();
      const float* value = values.const_data_ptr<float>();
      for (const PackedCompletion& packed : batch.completions) {
        const int64_t length = packed.completion->num_sampled();
        columns[packed.place].assign(value, value + length);
        value += length;
      }
    });
  };
  auto columns =
      shared_columns(forwarded_groups(groups, has_tokens), std::ssize(samples), *options.processes, compute);
  for (size_t place = 0; place < samples.size(); ++place) {
    if (has_tokens(*samples[place])) samples[place]->values = std::move(columns[place]);
  }
}

LossResult accumulate_value_gradient(const Decoder& trunk, const Linear& head, std::span<const Group> groups,
                                     const ValueLoss& loss, const LossOptions& options) {
  const Samples samples = samples_by_place(groups);
  int64_t num_tokens = 0;
  for_each_sequence(groups, [&](const Sample& sample) { num_tokens += sample.loss_length(); });
  const double weight = loss.coefficient / static_cast<double>(std::max<int64_t>(num_tokens, 1));
  std::vector<at::Tensor> leaves;
  if (loss.trains_trunk) leaves = trunk.parameters();
  for (const at::Tensor& leaf : {head.weight(), head.bias()}) {
    const bool is_known = std::ranges::any_of(leaves, [&](const auto& other) { return other.is_same(leaf); });
    if (leaf.defined() && !is_known) leaves.push_back(leaf);
  }
  const auto train_on_slot = [&](const std::vector<PackGroup>& slot) {
    const auto pieces = cut_into_microbatches(slot, options.tokens_per_microbatch);
    std::vector<LossResult> results(pieces.size());
    std::atomic<bool> is_finite = true;
    for_each_batch(pieces, 0.0, options, trunk, [&](int64_t i, const PackedBatch& batch) {
      if (!is_finite) return;
      results[i] = learn_values(trunk, head, batch, samples, loss, weight);
      if (!results[i].is_finite) is_finite = false;
    });
    SlotResult total;
    for (const LossResult& result : results) add_loss(result, total.loss);
    return total;
  };
  const auto slots =
      cut_into_slots(forwarded_groups(groups, has_loss), options.gradient_slots, /*keeps_groups=*/false);
  LossResult total;
  for (const SlotResult& result : run_slots(slots, leaves, options, train_on_slot))
    add_loss(result.loss, total);
  return total;
}

void record_value_loss(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                       double clip, LossMetrics& metrics) {
  const at::Tensor clipped = old_values + (values - old_values).clamp(-clip, clip);
  const at::Tensor is_clipped = (clipped - returns).abs() > (values - returns).abs();
  const at::Tensor loss = clipped_value_loss(values, old_values, returns, clip);
  const auto count = static_cast<double>(values.numel());
  metrics.add_mean("critic/vf_loss", loss.sum(at::kDouble).item<double>(), count);
  metrics.add_mean("critic/vf_clipfrac", is_clipped.sum().item<double>(), count);
}

}  // namespace cohort
