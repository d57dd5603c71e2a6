#include "cohort/train/step_advantages.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/process_advantage.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A completion that is in the statistics.
struct Judged {
  const Completion* completion;
  const TrainedCompletion* trained;  ///< null: it is not trained on
  const RewardMatrix* rewards;
  int64_t row;   ///< of `rewards`
  double total;  ///< nan: none
};

struct JudgedGroups {
  std::vector<Judged> completions;  ///< of a group first those that are trained on
  std::vector<int64_t> ends;        ///< per group
  bool has_untrained = false;
};

/// The rewards of the greedy completions, per group; nan where there is none.
std::vector<double> greedy_rewards(const StepRewards& scored) {
  const std::vector<double> weights(scored.weights.begin(), scored.weights.end());
  std::vector<double> rewards(scored.groups.size(), kNone);
  for (const UntrainedGroup& other : scored.untrained) {
    if (other.reason == Untrained::kGreedy) rewards[other.of] = totals_or_nan(other.rewards, weights).front();
  }
  return rewards;
}

void add_untrained(const StepRewards& scored, int64_t group, JudgedGroups& judged) {
  const std::vector<double> weights(scored.weights.begin(), scored.weights.end());
  for (const UntrainedGroup& other : scored.untrained) {
    if (other.of != group || other.reason == Untrained::kGreedy) continue;
    judged.has_untrained = true;
    const std::vector<double> totals = totals_or_nan(other.rewards, weights);
    for (size_t i = 0; i < totals.size(); ++i)
      judged.completions.push_back(
          {&other.group.completions[i], nullptr, &other.rewards, static_cast<int64_t>(i), totals[i]});
  }
}

JudgedGroups judged_groups(const StepRewards& scored) {
  JudgedGroups judged;
  size_t index = 0;
  for (size_t g = 0; g < scored.groups.size(); ++g) {
    const TrainedGroup& group = scored.groups[g];
    for (size_t i = 0; i < group.completions.size(); ++i, ++index) {
      const double total = scored.totals.valid[index] ? scored.totals.values[index] : kNone;
      judged.completions.push_back({&group.group->completions[i], &group.completions[i], &scored.rewards[g],
                                    static_cast<int64_t>(i), total});
    }
    add_untrained(scored, static_cast<int64_t>(g), judged);
    judged.ends.push_back(std::ssize(judged.completions));
  }
  return judged;
}

at::Tensor total_rewards(const JudgedGroups& judged) {
  std::vector<double> values;
  values.reserve(judged.completions.size());
  for (const Judged& completion : judged.completions) values.push_back(completion.total);
  return at::tensor(values, at::kDouble);
}

/// [B, C]; nan where a reward has no say, and for completions without a total.
at::Tensor reward_columns(const JudgedGroups& judged) {
  std::vector<double> values;
  for (const Judged& completion : judged.completions) {
    for (int64_t c = 0; c < completion.rewards->num_rewards(); ++c) {
      const RewardResult& cell = completion.rewards->at(completion.row, c);
      const bool counts = !std::isnan(completion.total) && cell.status == RewardStatus::kOk;
      values.push_back(counts ? cell.score : kNone);
    }
  }
  return at::tensor(values, at::kDouble).reshape({std::ssize(judged.completions), -1});
}

/// Per-token values of all completions, one behind the other.
template <typename F>
at::Tensor joined(const JudgedGroups& judged, F values_of) {
  std::vector<float> all;
  for (const Judged& completion : judged.completions) {
    const std::vector<float>& values = values_of(completion);
    COHORT_CHECK(values.size() == completion.completion->token_ids.size());
    all.insert(all.end(), values.begin(), values.end());
  }
  return at::tensor(all, at::kFloat).to(at::kDouble);
}

/// A group whose greedy completion has no reward has nothing to be judged against.
void read_greedy(const StepRewards& scored, JudgedGroups& judged, AdvantageInput& input) {
  std::vector<double> rewards = greedy_rewards(scored);
  int64_t begin = 0;
  for (size_t g = 0; g < rewards.size(); ++g) {
    if (std::isnan(rewards[g])) {
      for (int64_t i = begin; i < judged.ends[g]; ++i) judged.completions[i].total = kNone;
      rewards[g] = 0.0;
    }
    begin = judged.ends[g];
  }
  input.greedy_rewards = at::tensor(rewards, at::kDouble);
}

/// The weighed steps of the rewards that judge steps as [B, K] with the last token of each, -1: none.
void take_steps(const StepRewards& scored, const JudgedGroups& judged, AdvantageInput& input) {
  std::vector<std::vector<StepReward>> all;
  all.reserve(judged.completions.size());
  size_t most = 1;
  for (const Judged& completion : judged.completions) {
    std::vector<StepReward>& own = all.emplace_back();
    for (int64_t c = 0; c < completion.rewards->num_rewards() && !std::isnan(completion.total); ++c) {
      if (!scored.gives_steps[c] || scored.weights[c] == 0.0) continue;
      for (const StepReward& step : completion.rewards->at(completion.row, c).steps)
        own.push_back({step.end, scored.weights[c] * step.score});
    }
    most = std::max(most, own.size());
  }
  const std::vector<int64_t> sizes = {std::ssize(all), static_cast<int64_t>(most)};
  input.rewards = at::full(sizes, kNone, at::kDouble);
  input.step_ends = at::full(sizes, -1, at::kLong);
  double* score = input.rewards.mutable_data_ptr<double>();
  int64_t* end = input.step_ends.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < all[i].size(); ++k) {
      score[i * most + k] = all[i][k].score;
      end[i * most + k] = std::min(all[i][k].end, input.lengths[i]) - 1;
    }
  }
}

AdvantageInput advantage_input(const StepRewards& scored, JudgedGroups& judged,
                               const AdvantageConfig& config) {
  AdvantageInput input;
  if (config.baseline == "greedy") read_greedy(scored, judged, input);
  input.group_ends = judged.ends;
  input.group_k = {scored.group_k.begin(), scored.group_k.end()};
  for (const Judged& completion : judged.completions) {
    input.lengths.push_back(std::ssize(completion.completion->token_ids));
    input.is_truncated.push_back(completion.completion->finish_reason == FinishReason::kLength);
  }
  const bool is_apart = config.multi_objective_aggregation == "normalize_then_sum";
  if (config.credit == "segments") {
    take_steps(scored, judged, input);
  } else {
    input.rewards = is_apart ? reward_columns(judged) : total_rewards(judged);
    if (is_apart) input.reward_weights = {scored.weights.begin(), scored.weights.end()};
  }
  input.old_logprobs = joined(
      judged, [](const Judged& completion) -> auto& { return completion.completion->sampler_logprobs; });
  if (config.puts_kl_in_reward()) {
    input.betas = betas_of(scored.groups);
    input.ref_logprobs =
        joined(judged, [](const Judged& completion) -> auto& { return completion.trained->ref_logprobs; });
  }
  if (reads_entropies(config))
    input.entropies =
        joined(judged, [](const Judged& completion) -> auto& { return completion.trained->entropies; });
  if (config.baseline == "critic")
    input.values =
        joined(judged, [](const Judged& completion) -> auto& { return completion.trained->values; });
  return input;
}

Advantages taken_from(const AdvantageOutput& output, const JudgedGroups& judged) {
  Advantages result;
  const at::Tensor values = output.values.to(at::kCPU, at::kDouble).contiguous();
  const double* value = values.const_data_ptr<double>();
  const at::Tensor returns =
      output.returns.defined() ? output.returns.to(at::kCPU, at::kDouble) : at::Tensor();
  const double* learnt = returns.defined() ? returns.const_data_ptr<double>() : nullptr;
  for (const Judged& completion : judged.completions) {
    const int64_t length = output.is_per_token ? std::ssize(completion.completion->token_ids) : 1;
    if (completion.trained != nullptr) {
      if (output.is_per_token) result.tokens.emplace_back(value, value + length);
      result.values.push_back(length > 0 ? *value : 0.0);
      if (learnt != nullptr) result.returns.emplace_back(learnt, learnt + length);
    }
    value += length;
    if (learnt != nullptr) learnt += length;
  }
  result.zero_std = output.has_no_difference;
  result.frac_reward_zero_std = output.frac_reward_zero_std;
  result.reward_mean = output.reward_mean;
  result.reward_std = output.reward_std;
  return result;
}

/// Of the completions that are trained on, whatever they are judged against.
Spread spread_of_totals(const TotalRewards& totals) {
  std::vector<double> values = totals.values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!totals.valid[i]) values[i] = kNone;
  }
  return spread_of(values, 1);
}

Advantages advantages_by_steps(const StepRewards& scored, const AdvantageConfig& config) {
  std::vector<int64_t> lengths;
  for_each_completion(scored.groups, [&](const Completion& completion, const TrainedCompletion&) {
    lengths.push_back(std::ssize(completion.token_ids));
  });
  return process_advantages(scored.rewards, {scored.weights, scored.gives_steps}, scored.totals, lengths,
                            parse_scale_rewards(config.scale_rewards));
}

}  // namespace

Advantages step_advantages(const StepRewards& scored, const AdvantageConfig& config) {
  if (config.credit == "steps") return advantages_by_steps(scored, config);
  JudgedGroups judged = judged_groups(scored);
  const AdvantageInput input = advantage_input(scored, judged, config);
  Advantages result = taken_from(advantages_of(input, config), judged);
  if (judged.has_untrained || config.credit == "segments" || config.baseline == "greedy") {
    const Spread spread = spread_of_totals(scored.totals);
    result.reward_mean = spread.mean;
    result.reward_std = spread.std;
  }
  return result;
}

double mean_reward_kl(std::span<const TrainedGroup> groups) {
  double sum = 0.0, count = 0.0;
  for_each_completion(groups, [&](const Completion& completion, const TrainedCompletion& trained) {
    COHORT_CHECK(trained.ref_logprobs.size() == completion.token_ids.size());
    for (size_t t = 0; t < trained.ref_logprobs.size(); ++t)
      sum += static_cast<double>(completion.sampler_logprobs[t]) - trained.ref_logprobs[t];
    count += static_cast<double>(trained.ref_logprobs.size());
  });
  return count > 0.0 ? sum / count : kNone;
}

bool needs_entropies(const ObjectiveSettings& settings) {
  return reads_entropies(settings.advantages) || settings.loss.top_entropy_quantile < 1.0;
}

}  // namespace cohort
