#include "cohort/objectives/loss_input.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/segments.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using TensorField = std::pair<at::Tensor LossInput::*, const char*>;

constexpr TensorField kTokenFields[] = {
    {&LossInput::old_logprobs, "loss: old_logprobs"},
    {&LossInput::sampler_logprobs, "loss: sampler_logprobs"},
    {&LossInput::ref_logprobs, "loss: ref_logprobs"},
    {&LossInput::entropies, "loss: entropies"},
    {&LossInput::values, "loss: values"},
    {&LossInput::old_values, "loss: old_values"},
    {&LossInput::returns, "loss: returns"},
};

constexpr TensorField kCompletionFields[] = {
    {&LossInput::rewards, "loss: rewards"},
    {&LossInput::betas, "loss: betas"},
};

void check_fields(const LossInput& input, std::span<const TensorField> fields, int64_t size) {
  for (const auto& [field, name] : fields) {
    if ((input.*field).defined()) check_shape(input.*field, {size}, name);
  }
}

void check_shapes(const LossInput& input) {
  const int64_t num_tokens = total_length(input.lengths), num_completions = std::ssize(input.lengths);
  check_shape(input.policy_logprobs, {num_tokens}, "loss: policy_logprobs");
  check_shape(input.advantages, {input.advantages_are_per_token ? num_tokens : num_completions},
              "loss: advantages");
  check_fields(input, kTokenFields, num_tokens);
  check_fields(input, kCompletionFields, num_completions);
  if (!input.group_ends.empty()) check_group_ends(input.group_ends, num_completions);
  COHORT_CHECK(input.turn_lengths.empty() || total_length(input.turn_lengths) == num_tokens);
  COHORT_CHECK(input.is_expert.empty() || std::ssize(input.is_expert) == num_completions);
  if (input.whole)
    check_shape(input.whole->completion_weights, {num_completions}, "loss: completion_weights");
}

void need(bool is_needed, bool is_there, const char* key, const char* what) {
  if (is_needed && !is_there) throw ConfigError(str(key, " needs ", what, ", which are not given"));
}

at::Tensor narrowed(const at::Tensor& values, int64_t begin, int64_t end) {
  return values.defined() ? values.slice(0, begin, end) : values;
}

/// The part of cumulative `ends` or of `lengths` that lies in [begin, end).
std::vector<int64_t> group_ends_within(const std::vector<int64_t>& group_ends, int64_t begin, int64_t end) {
  std::vector<int64_t> part;
  for_each_group(group_ends, [&](int64_t first, int64_t last) {
    if (last > begin && first < end) part.push_back(std::min(last, end) - begin);
  });
  return part;
}

std::vector<int64_t> turns_within(const std::vector<int64_t>& turn_lengths, int64_t begin, int64_t end) {
  std::vector<int64_t> part;
  int64_t position = 0;
  for (const int64_t length : turn_lengths) {
    if (length > 0 && position >= begin && position < end) part.push_back(length);
    position += length;
  }
  return part;
}

WholeBatch narrowed(const WholeBatch& whole, std::pair<int64_t, int64_t> completions,
                    std::pair<int64_t, int64_t> tokens) {
  WholeBatch part = whole;
  for (at::Tensor* mask : {&part.masks.policy, &part.masks.entropy, &part.masks.kl_cov})
    *mask = narrowed(*mask, tokens.first, tokens.second);
  part.completion_weights = narrowed(whole.completion_weights, completions.first, completions.second);
  return part;
}

}  // namespace

void check_batch_input(const LossInput& input, const LossConfig& config) {
  check_shapes(input);
  need(config.ratio_anchor == "ref", input.ref_logprobs.defined(), "ratio_anchor = \"ref\"", "ref_logprobs");
  need(config.importance_sampling_mode != "none", input.sampler_logprobs.defined(),
       "importance_sampling_mode", "sampler_logprobs");
  need(config.importance_sampling_level == "turn",
       !input.turn_lengths.empty() || total_length(input.lengths) == 0,
       "importance_sampling_level = \"turn\"", "the lengths of the turns");
  need(config.top_entropy_quantile < 1.0, input.entropies.defined(), "top_entropy_quantile", "entropies");
  need(config.surrogate == "drpo_decoupled", input.rewards.defined(), "surrogate drpo_decoupled", "rewards");
  need(config.dpo_coef != 0.0, input.rewards.defined(), "dpo_coef", "rewards");
  need(config.nll_coef != 0.0 && config.nll_on == "positive", input.rewards.defined(),
       "nll_on = \"positive\"", "rewards");
  const bool has_lengths = config.length_preference != 0.0 || input.length_preference.defined();
  const bool has_group_scope = config.aggregation == "token_mean" && config.token_mean_scope == "group";
  const bool is_grouped = has_lengths || needs_whole_groups(config) || has_group_scope;
  need(is_grouped, !input.group_ends.empty() || input.lengths.empty(),
       "a term over groups (length_preference, dpo_coef, drpo_decoupled or token_mean_scope)",
       "the ends of the groups");
}

void check_loss_input(const LossInput& input, const LossConfig& config) {
  check_batch_input(input, config);
  const bool has_loss_kl = (config.beta != 0.0 || input.betas.defined()) && config.kl_place == "loss";
  need(has_loss_kl, input.ref_logprobs.defined(), "beta", "ref_logprobs");
  need(config.entropy_coef != 0.0, input.entropies.defined(), "entropy_coef", "entropies");
  need(config.value_coef != 0.0,
       input.values.defined() && input.old_values.defined() && input.returns.defined(), "value_coef",
       "values, old_values and returns");
  need(config.dpo_coef != 0.0 && !config.dpo_reference_free, input.ref_logprobs.defined(),
       "dpo_reference_free = false", "ref_logprobs");
}

LossInput micro_batch(const LossInput& batch, int64_t begin, int64_t end) {
  COHORT_CHECK(batch.whole.has_value() && begin >= 0 && begin <= end && end <= std::ssize(batch.lengths));
  LossInput part = batch;
  part.lengths = {batch.lengths.begin() + begin, batch.lengths.begin() + end};
  const int64_t first = total_length({batch.lengths.begin(), batch.lengths.begin() + begin});
  const int64_t last = first + total_length(part.lengths);
  part.policy_logprobs = narrowed(batch.policy_logprobs, first, last);
  part.advantages = batch.advantages_are_per_token ? narrowed(batch.advantages, first, last)
                                                   : narrowed(batch.advantages, begin, end);
  for (const auto& [field, name] : kTokenFields) part.*field = narrowed(batch.*field, first, last);
  for (const auto& [field, name] : kCompletionFields) part.*field = narrowed(batch.*field, begin, end);
  part.group_ends = group_ends_within(batch.group_ends, begin, end);
  part.turn_lengths = turns_within(batch.turn_lengths, first, last);
  if (!batch.is_expert.empty())
    part.is_expert = {batch.is_expert.begin() + begin, batch.is_expert.begin() + end};
  part.whole = narrowed(*batch.whole, {begin, end}, {first, last});
  return part;
}

LossInput select_completions(const LossInput& batch, const std::vector<int64_t>& completions) {
  COHORT_CHECK(batch.whole.has_value() && batch.turn_lengths.empty());
  std::vector<int64_t> begins = {0}, tokens, group_of;
  for (const int64_t length : batch.lengths) begins.push_back(begins.back() + length);
  for_each_group(batch.group_ends, [&](int64_t first, int64_t last) {
    group_of.insert(group_of.end(), last - first, std::ssize(group_of));
  });
  LossInput part = batch;
  part.lengths.clear();
  part.group_ends.clear();
  part.is_expert.clear();
  int64_t last_group = -1;
  for (const int64_t i : completions) {
    for (int64_t t = begins[i]; t < begins[i + 1]; ++t) tokens.push_back(t);
    part.lengths.push_back(batch.lengths[i]);
    if (!batch.is_expert.empty()) part.is_expert.push_back(batch.is_expert[i]);
    if (part.group_ends.empty() || group_of[i] != last_group) part.group_ends.push_back(0);
    part.group_ends.back() = std::ssize(part.lengths);
    last_group = group_of[i];
  }
  const at::Device device = batch.advantages.device();
  const at::Tensor of_tokens = at::tensor(tokens, at::kLong).to(device);
  const at::Tensor of_completions = at::tensor(completions, at::kLong).to(device);
  const auto select = [](at::Tensor& values, const at::Tensor& indices) {
    if (values.defined()) values = values.index_select(0, indices);
  };
  part.policy_logprobs = at::Tensor();
  select(part.advantages, batch.advantages_are_per_token ? of_tokens : of_completions);
  for (const auto& [field, name] : kTokenFields) select(part.*field, of_tokens);
  for (const auto& [field, name] : kCompletionFields) select(part.*field, of_completions);
  for (at::Tensor* mask : {&part.whole->masks.policy, &part.whole->masks.entropy, &part.whole->masks.kl_cov})
    select(*mask, of_tokens);
  select(part.whole->completion_weights, of_completions);
  return part;
}

bool needs_whole_groups(const LossConfig& config) {
  return config.surrogate == "drpo_decoupled" || config.dpo_coef != 0.0;
}

}  // namespace cohort
