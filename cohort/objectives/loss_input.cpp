#include "cohort/objectives/loss_input.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/ratio_level.h"
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
  COHORT_CHECK(input.is_demonstration.empty() || std::ssize(input.is_demonstration) == num_completions);
  if (input.whole)
    check_shape(input.whole->completion_weights, {num_completions}, "loss: completion_weights");
}

void need(bool is_needed, bool is_there, const std::string& key, const char* what) {
  if (is_needed && !is_there) throw ConfigError(str(key, " needs ", what, ", which are not given"));
}

/// Where the completions' tokens begin, and behind them the number of all.
std::vector<int64_t> begins_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> begins = {0};
  for (const int64_t length : lengths) begins.push_back(begins.back() + length);
  return begins;
}

/// The ends of groups among the chosen completions; neighbours of one group are one group.
std::vector<int64_t> chosen_group_ends(const std::vector<int64_t>& group_ends,
                                       const std::vector<int64_t>& completions) {
  if (group_ends.empty()) return {};
  std::vector<int64_t> ends;
  int64_t last_group = -1;
  for (size_t i = 0; i < completions.size(); ++i) {
    const auto found = std::upper_bound(group_ends.begin(), group_ends.end(), completions[i]);
    const int64_t group = found - group_ends.begin();
    if (group != last_group) ends.push_back(0);
    ends.back() = static_cast<int64_t>(i) + 1;
    last_group = group;
  }
  return ends;
}

/// The turns with tokens of the chosen completions, by where tokens begin.
std::vector<int64_t> chosen_turns(const LossInput& batch, const std::vector<int64_t>& begins,
                                  const std::vector<int64_t>& completions) {
  const std::vector<int64_t> turn_begins = begins_of(batch.turn_lengths);
  std::vector<int64_t> turns;
  for (const int64_t i : completions) {
    for (size_t turn = 0; turn < batch.turn_lengths.size(); ++turn) {
      const bool is_own = turn_begins[turn] >= begins[i] && turn_begins[turn] < begins[i + 1];
      if (is_own && batch.turn_lengths[turn] > 0) turns.push_back(batch.turn_lengths[turn]);
    }
  }
  return turns;
}

}  // namespace

void check_batch_input(const LossInput& input, const LossConfig& config) {
  check_shapes(input);
  need(config.is_anchored_to_ref(), input.ref_logprobs.defined(), "ratio_anchor = \"ref\"", "ref_logprobs");
  need(config.corrects_mismatch(), input.sampler_logprobs.defined(), "importance_sampling_mode",
       "sampler_logprobs");
  need(find_ratio_level(config.importance_sampling_level).is_of_turns,
       !input.turn_lengths.empty() || total_length(input.lengths) == 0,
       "importance_sampling_level = \"turn\"", "the lengths of the turns");
  need(config.top_entropy_quantile < 1.0, input.entropies.defined(), "top_entropy_quantile", "entropies");
  need(surrogate_of(config).traits().is_of_groups, input.rewards.defined(), "surrogate " + config.surrogate,
       "rewards");
  need(config.dpo_coef != 0.0, input.rewards.defined(), "dpo_coef", "rewards");
  need(config.nll_coef != 0.0 && config.is_nll_by_reward(), input.rewards.defined(), "nll_on = \"positive\"",
       "rewards");
  const bool has_lengths = config.length_preference != 0.0 || input.length_preference.defined();
  const bool has_group_scope =
      find_aggregation(config.aggregation).is_token_mean && config.aggregation_keys.token_mean.is_of_groups();
  const bool is_grouped = has_lengths || needs_whole_groups(config) || has_group_scope;
  need(is_grouped, !input.group_ends.empty() || input.lengths.empty(),
       "a term over groups (length_preference, dpo_coef, surrogate or token_mean_scope)",
       "the ends of the groups");
}

void check_loss_input(const LossInput& input, const LossConfig& config) {
  check_batch_input(input, config);
  const bool has_loss_kl = (config.beta != 0.0 || input.betas.defined()) && config.is_kl_in_loss();
  need(has_loss_kl, input.ref_logprobs.defined(), "beta", "ref_logprobs");
  need(input.entropy_coef || config.entropy_coef != 0.0, input.entropies.defined(), "entropy_coef",
       "entropies");
  need(config.value_coef != 0.0,
       input.values.defined() && input.old_values.defined() && input.returns.defined(), "value_coef",
       "values, old_values and returns");
  need(config.echo_coef != 0.0, input.reply_logprobs.defined(), "echo_coef",
       "the log-probabilities of an environment's replies, which only runs have");
  need(config.dpo_coef != 0.0 && !config.dpo_reference_free, input.ref_logprobs.defined(),
       "dpo_reference_free = false", "ref_logprobs");
}

LossInput select_completions(const LossInput& batch, const std::vector<int64_t>& completions) {
  COHORT_CHECK(batch.whole.has_value());
  const std::vector<int64_t> begins = begins_of(batch.lengths);
  LossInput part = batch;
  part.lengths.clear();
  part.is_demonstration.clear();
  std::vector<int64_t> tokens;
  for (const int64_t i : completions) {
    for (int64_t t = begins[i]; t < begins[i + 1]; ++t) tokens.push_back(t);
    part.lengths.push_back(batch.lengths[i]);
    if (!batch.is_demonstration.empty()) part.is_demonstration.push_back(batch.is_demonstration[i]);
  }
  part.group_ends = chosen_group_ends(batch.group_ends, completions);
  part.turn_lengths = chosen_turns(batch, begins, completions);
  const at::Device device = batch.advantages.device();
  const at::Tensor of_tokens = at::tensor(tokens, at::kLong).to(device);
  const at::Tensor of_completions = at::tensor(completions, at::kLong).to(device);
  const auto select = [](at::Tensor& values, const at::Tensor& indices) {
    if (values.defined()) values = values.index_select(0, indices);
  };
  select(part.policy_logprobs, of_tokens);
  select(part.advantages, batch.advantages_are_per_token ? of_tokens : of_completions);
  for (const auto& [field, name] : kTokenFields) select(part.*field, of_tokens);
  for (const auto& [field, name] : kCompletionFields) select(part.*field, of_completions);
  for (at::Tensor* mask : {&part.whole->masks.policy, &part.whole->masks.entropy, &part.whole->masks.kl_cov})
    select(*mask, of_tokens);
  select(part.whole->completion_weights, of_completions);
  return part;
}

bool needs_whole_groups(const LossConfig& config) {
  return surrogate_of(config).traits().is_of_groups || config.dpo_coef != 0.0;
}

}  // namespace cohort
