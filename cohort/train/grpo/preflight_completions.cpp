// Findings about a trial's completions and scores.
#include <algorithm>
#include <cmath>
#include <map>

#include "cohort/explain/thresholds.h"
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

/// "all 32" or "94 % of 320".
std::string share_text(int64_t part, int64_t whole) {
  if (part == whole) return str("all ", whole);
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return str(std::min<int64_t>(std::llround(100.0 * share), 99), " % of ", whole);
}

double share_of(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

// Few completions are cut often by chance, so most of them must be.
std::optional<Finding> often_cut(const TrainConfig& config, const Trial& trial) {
  if (config.rollout.ignore_eos) return std::nullopt;
  int64_t num_all = 0, num_cut = 0;
  bool is_known = true;
  for_each_sample(trial.groups, [&](const Sample& sample) {
    ++num_all;
    num_cut += sample.completion.finish_reason != FinishReason::kStop;
    is_known &= !is_unfinished(trial, sample.completion);
  });
  const bool is_few = static_cast<double>(num_all) < thresholds::kFewCompletions;
  const double most = is_few ? thresholds::kMostlyCut : thresholds::kOftenCut;
  if (!is_known || num_cut == 0 || share_of(num_cut, num_all) < most) return std::nullopt;
  const bool is_masked = config.objective.mask_truncated_completions;
  return Finding{
      Severity::kWarning,
      str(share_text(num_cut, num_all), " trial completions were cut before they ended",
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
  int64_t num_judged = 0, num_without = 0;
  for_each_sample(trial.groups, [&](const Sample& sample) {
    const RewardResult& cell = sample.rewards.at(reward);
    if (cell.status != RewardStatus::kOk || is_unfinished(trial, sample.completion)) return;
    ++num_judged;
    num_without += cell.detail.starts_with(none->detail);
  });
  constexpr double kMostAnswers = 0.9;
  if (num_judged < 2 || share_of(num_without, num_judged) < kMostAnswers) return std::nullopt;
  const std::string which =
      num_without == num_judged ? str("any of ", num_judged) : share_text(num_without, num_judged);
  return Finding{Severity::kWarning, str("reward ", config.reward[reward].name, " found no answer in ", which,
                                         " trial completions (", none->detail, "): ", none->advice)};
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

/// What few completions with equal rewards leave open: with which share of others chance gives this in one
/// trial of 20. Empty for many.
std::string doubt(int64_t num_equal) {
  const auto count = static_cast<double>(num_equal);
  if (count >= thresholds::kFewCompletions) return "";
  const double share = 1.0 - std::pow(0.05, 1.0 / count);
  return str("; chance does this in one trial of 20 if ", std::llround(100.0 * share),
             " % of completions have another reward");
}

std::optional<Finding> no_difference(const TrainConfig& config, const Trial& trial) {
  if (!compares_groups(config) || has_steps(trial)) return std::nullopt;
  const std::vector<double> weights = weights_of(config);
  int64_t num_judged = 0, num_groups = 0, num_equal = 0;
  double lowest = 0.0, highest = 0.0;
  for (const Group& group : trial.groups) {
    const std::vector<double> totals = judged_totals(trial, group, weights);
    if (totals.size() < 2) continue;
    const auto [low, high] = std::ranges::minmax(totals);
    ++num_groups;
    num_equal += low == high;
    lowest = num_judged == 0 ? low : std::min(lowest, low);
    highest = num_judged == 0 ? high : std::max(highest, high);
    num_judged += std::ssize(totals);
  }
  if (num_judged == 0 || share_of(num_equal, num_groups) < thresholds::kMostGroups) return std::nullopt;
  const std::string values =
      lowest == highest ? str(lowest, doubt(num_judged)) : str(lowest, " to ", highest);
  return Finding{
      Severity::kWarning,
      str(num_equal == num_groups
              ? str("no reward differs within any of ", num_groups, " trial groups")
              : str("no reward differs within ", share_text(num_equal, num_groups), " trial groups"),
          " (", num_judged, " completions, rewards of ", values,
          "). Such groups teach nothing: take prompts that succeed "
          "now and then, a reward with partial credit, or raise rollout.num_generations or "
          "rollout.temperature")};
}

}  // namespace

bool compares_groups(const TrainConfig& config) {
  const ObjectiveSettings settings = resolved(config.objective, config.rollout.max_completion_length);
  return find_baseline(settings.advantages.baseline).is_of_group && config.rollout.num_generations > 1 &&
         config.objective.python_advantages.empty();
}

std::vector<Finding> completion_findings(const TrainConfig& config, const Trial& trial) {
  std::vector<Finding> findings;
  if (auto finding = often_cut(config, trial)) findings.push_back(*std::move(finding));
  for (size_t reward = 0; reward < config.reward.size(); ++reward) {
    if (!ever_counts(config.reward[reward])) continue;
    if (auto finding = no_answers(config, trial, reward)) findings.push_back(*std::move(finding));
  }
  if (auto finding = no_difference(config, trial)) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace cohort
