// Findings about a trial's completions and scores.
#include <algorithm>
#include <cmath>
#include <map>

#include "cohort/objectives/baseline.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/grpo/preflight.h"

namespace cohort {
namespace {

/// Completions that the trial cut before the run would, and that say nothing of the run's.
bool is_unfinished(const Trial& trial, const Completion& completion) {
  return trial.is_shortened && completion.finish_reason == FinishReason::kLength;
}

std::optional<Finding> all_cut(const TrainConfig& config, const Trial& trial) {
  if (config.rollout.ignore_eos) return std::nullopt;
  for (const Group& group : trial.groups) {
    for (const Sample& sample : group.samples) {
      if (sample.completion.finish_reason == FinishReason::kStop || is_unfinished(trial, sample.completion))
        return std::nullopt;
    }
  }
  const bool is_masked = config.objective.mask_truncated_completions;
  return Finding{
      Severity::kWarning,
      str("all ", num_samples(trial.groups), " trial completions were cut before they ended",
          is_masked ? ", and objective.mask_truncated_completions would train on none of them" : "",
          "; raise rollout.max_completion_length = ", config.rollout.max_completion_length,
          ", or check that the model writes its stop token")};
}

/// How the built-in rewards that look for an answer say that there is none, and what to do.
struct NoAnswer {
  const char* detail;
  const char* advice;
};

const NoAnswer* no_answer_of(const RewardConfig& reward) {
  static const std::map<std::string, NoAnswer> no_answers{
      {"accuracy", {"no answer", "let the prompt ask for the answer in \\boxed{} or <answer>"}},
      {"choice", {"names no choice", "let the prompt ask for one letter, in \\boxed{} or <answer>"}},
      {"code", {"no fenced block", "let the prompt ask for one fenced block of code"}},
      {"countdown", {"no <answer>", "let the prompt ask for the expression in <answer>"}},
      {"json_schema", {"no JSON", "let the prompt ask for JSON alone, or in a fenced block"}},
      {"numeric", {"states no number", "let the prompt ask for one number, in \\boxed{} or <answer>"}}};
  const auto found = no_answers.find(reward.type.empty() ? reward.name : reward.type);
  return found == no_answers.end() ? nullptr : &found->second;
}

std::optional<Finding> no_answers(const TrainConfig& config, const Trial& trial, size_t reward) {
  const NoAnswer* none = no_answer_of(config.reward[reward]);
  if (none == nullptr) return std::nullopt;
  int64_t count = 0;
  for (const Group& group : trial.groups) {
    for (const Sample& sample : group.samples) {
      const RewardResult& cell = sample.rewards.at(reward);
      if (cell.status != RewardStatus::kOk || is_unfinished(trial, sample.completion)) continue;
      if (!cell.detail.starts_with(none->detail)) return std::nullopt;
      ++count;
    }
  }
  if (count < 2) return std::nullopt;
  return Finding{Severity::kWarning, str("reward ", config.reward[reward].name, " found no answer in any of ",
                                         count, " trial completions (", none->detail, "): ", none->advice)};
}

/// The total rewards of a group's samples that are finished and judged.
std::vector<double> judged_totals(const Trial& trial, const Group& group,
                                  const std::vector<double>& weights) {
  std::vector<double> judged;
  for (const Sample& sample : group.samples) {
    const double total = total_reward(sample.rewards, weights);
    if (!std::isnan(total) && !is_unfinished(trial, sample.completion)) judged.push_back(total);
  }
  return judged;
}

/// Per reward a weight that it has at some step.
std::vector<double> weights_of(const TrainConfig& config) {
  std::vector<double> weights;
  for (const RewardConfig& reward : config.reward) {
    const double last = last_reward_weight(reward);
    weights.push_back(last == 0.0 && ever_counts(reward) ? 1.0 : last);
  }
  return weights;
}

bool has_steps(const Trial& trial) {
  return std::ranges::any_of(trial.groups, [](const Group& group) {
    return !group.samples.empty() &&
           std::ranges::any_of(group.samples.front().rewards,
                               [](const RewardResult& cell) { return !cell.steps.empty(); });
  });
}

std::optional<Finding> no_difference(const TrainConfig& config, const Trial& trial) {
  const ObjectiveSettings settings = resolved(config.objective, config.rollout.max_completion_length);
  if (!find_baseline(settings.advantages.baseline).is_of_group || has_steps(trial)) return std::nullopt;
  const std::vector<double> weights = weights_of(config);
  int64_t num_judged = 0;
  double lowest = 0.0, highest = 0.0;
  for (const Group& group : trial.groups) {
    const std::vector<double> totals = judged_totals(trial, group, weights);
    if (totals.size() < 2) continue;
    const auto [low, high] = std::ranges::minmax(totals);
    if (low != high) return std::nullopt;
    lowest = num_judged == 0 ? low : std::min(lowest, low);
    highest = num_judged == 0 ? high : std::max(highest, high);
    num_judged += std::ssize(totals);
  }
  if (num_judged == 0) return std::nullopt;
  const std::string values = lowest == highest ? str(lowest) : str(lowest, " to ", highest);
  return Finding{Severity::kWarning,
                 str("no reward differs within any of ", trial.groups.size(), " trial groups (", num_judged,
                     " completions, rewards of ", values,
                     "), and such groups teach nothing: take prompts that succeed "
                     "now and then, a reward with partial credit, or raise rollout.num_generations or "
                     "rollout.temperature")};
}

}  // namespace

std::vector<Finding> completion_findings(const TrainConfig& config, const Trial& trial) {
  std::vector<Finding> findings;
  if (auto finding = all_cut(config, trial)) findings.push_back(*std::move(finding));
  for (size_t reward = 0; reward < config.reward.size(); ++reward) {
    if (!ever_counts(config.reward[reward])) continue;
    if (auto finding = no_answers(config, trial, reward)) findings.push_back(*std::move(finding));
  }
  if (auto finding = no_difference(config, trial)) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace cohort
