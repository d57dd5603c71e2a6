#include "cohort/train/step_advantages.h"

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/process_advantage.h"

namespace cohort {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

at::Tensor total_rewards(const TotalRewards& totals) {
  std::vector<double> values = totals.values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!totals.valid[i]) values[i] = kNone;
  }
  return at::tensor(values, at::kDouble);
}

/// [B, C]; nan where a reward has no say, and for completions without a total.
at::Tensor reward_columns(const ScoredGroups& scored) {
  std::vector<double> values;
  size_t index = 0;
  for (const RewardMatrix& rewards : scored.rewards) {
    for (int64_t i = 0; i < rewards.num_completions(); ++i, ++index) {
      for (int64_t c = 0; c < rewards.num_rewards(); ++c) {
        const RewardResult& cell = rewards.at(i, c);
        const bool counts = scored.totals.valid[index] && cell.status == RewardStatus::kOk;
        values.push_back(counts ? cell.score : kNone);
      }
    }
  }
  return at::tensor(values, at::kDouble).reshape({static_cast<int64_t>(index), -1});
}

/// Per-token values of all completions, one behind the other.
template <typename F>
at::Tensor joined(const ScoredGroups& scored, F values_of) {
  std::vector<float> all;
  for_each_completion(scored.groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    const std::vector<float>& values = values_of(completion, trained);
    COHORT_CHECK(values.size() == completion.token_ids.size());
    all.insert(all.end(), values.begin(), values.end());
  });
  return at::tensor(all, at::kFloat).to(at::kDouble);
}

AdvantageInput advantage_input(const ScoredGroups& scored, const AdvantageConfig& config) {
  AdvantageInput input;
  const bool is_apart = config.multi_objective_aggregation == "normalize_then_sum";
  input.rewards = is_apart ? reward_columns(scored) : total_rewards(scored.totals);
  if (is_apart) input.reward_weights = {scored.weights.begin(), scored.weights.end()};
  input.group_ends = group_ends_of(scored.groups);
  for_each_completion(scored.groups, [&](const Completion& completion, const TrainedCompletion&) {
    input.lengths.push_back(std::ssize(completion.token_ids));
    input.is_truncated.push_back(completion.finish_reason == FinishReason::kLength);
  });
  using Trained = const TrainedCompletion&;
  input.old_logprobs = joined(
      scored, [](const Completion& completion, Trained) -> auto& { return completion.sampler_logprobs; });
  if (config.puts_kl_in_reward())
    input.ref_logprobs =
        joined(scored, [](const Completion&, Trained trained) -> auto& { return trained.ref_logprobs; });
  if (reads_entropies(config))
    input.entropies =
        joined(scored, [](const Completion&, Trained trained) -> auto& { return trained.entropies; });
  return input;
}

Advantages taken_from(const AdvantageOutput& output, const std::vector<int64_t>& lengths) {
  Advantages result;
  const at::Tensor values = output.values.to(at::kCPU, at::kDouble).contiguous();
  const double* value = values.const_data_ptr<double>();
  if (output.is_per_token) {
    for (const int64_t length : lengths) {
      result.tokens.emplace_back(value, value + length);
      result.values.push_back(length > 0 ? *value : 0.0);
      value += length;
    }
  } else {
    result.values.assign(value, value + values.numel());
  }
  result.zero_std = output.has_no_difference;
  result.reward_mean = output.reward_mean;
  result.reward_std = output.reward_std;
  result.frac_reward_zero_std = output.frac_reward_zero_std;
  return result;
}

Advantages advantages_by_steps(const ScoredGroups& scored, const AdvantageConfig& config) {
  std::vector<int64_t> lengths;
  for_each_completion(scored.groups, [&](const Completion& completion, const TrainedCompletion&) {
    lengths.push_back(std::ssize(completion.token_ids));
  });
  return process_advantages(scored.rewards, {scored.weights, scored.gives_steps}, scored.totals, lengths,
                            parse_scale_rewards(config.scale_rewards));
}

}  // namespace

Advantages step_advantages(const ScoredGroups& scored, const AdvantageConfig& config) {
  if (config.credit == "steps") return advantages_by_steps(scored, config);
  const AdvantageInput input = advantage_input(scored, config);
  return taken_from(advantages_of(input, config), input.lengths);
}

bool needs_entropies(const ObjectiveSettings& settings) {
  return reads_entropies(settings.advantages) || settings.loss.top_entropy_quantile < 1.0;
}

}  // namespace cohort
