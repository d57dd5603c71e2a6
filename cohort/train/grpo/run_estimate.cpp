#include "cohort/train/grpo/run_estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/run/metrics.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTrialCompletions = 32;
constexpr double kLongStep = 20.0, kBudget = 40.0, kEvaluationBudget = 15.0;  // seconds
constexpr int64_t kMostSteps = 5;

TrainConfig in_directory(TrainConfig config, const fs::path& directory) {
  config.run.dir = directory.string();
  config.train.preflight = false;
  config.train.eval_on_start = false;
  return config;
}

/// A step of some 32 completions. Its prompts are a multiple of the mini-batches.
TrainConfig with_small_steps(TrainConfig config) {
  const int64_t parts = config.train.steps_per_generation;
  const int64_t prompts =
      std::max<int64_t>(1, kTrialCompletions / (config.rollout.num_generations * parts)) * parts;
  config.rollout.prompts_per_step = std::min(config.rollout.prompts_per_step, prompts);
  config.rollout.prompts_ahead = std::min(config.rollout.prompts_ahead, config.rollout.prompts_per_step);
  return config;
}

double square(double value) { return value * value; }

// ---- what the steps' completions say

void count_cells(const Json& row, RunEstimate& estimate) {
  for (RewardTrial& reward : estimate.rewards) {
    const Json& cell = row.at("rewards").at(reward.name);
    const auto status = cell.at("status").get<std::string>();
    ++reward.counts[status];
    if (status == "ok") {
      reward.mean += cell.at("score").get<double>();
    } else if (status != "skipped" && reward.failure.empty()) {
      reward.failure = str(row.at("prompt_id").get<std::string>(), ": ", status, ": ",
                           excerpt(cell.value("detail", std::string())));
    }
  }
}

void name_rewards(const Json& row, RunEstimate& estimate) {
  if (!estimate.rewards.empty()) return;
  for (const auto& [name, cell] : row.at("rewards").items()) estimate.rewards.push_back({name});
}

/// The groups that a step drew, also those that are not trained on; without greedy completions, re-rolls and
/// demonstrations.
void add_drawn_groups(Batch batch, std::vector<Group>& groups) {
  const auto first = std::ssize(groups);
  for (Group& group : batch.groups) {
    if (!group.rerolls) groups.push_back(std::move(group));
  }
  for (UntrainedGroup& untrained : batch.untrained) {
    if (untrained.reason == Untrained::kGreedy || untrained.group.rerolls) continue;
    if (untrained.of < 0 || first + untrained.of >= std::ssize(groups)) {
      groups.push_back(std::move(untrained.group));
      continue;
    }
    std::vector<Sample>& samples = groups[first + untrained.of].samples;
    std::ranges::move(untrained.group.samples, std::back_inserter(samples));
  }
  for (auto group = groups.begin() + first; group != groups.end(); ++group)
    std::erase_if(group->samples, [](const Sample& sample) { return sample.is_demonstration; });
}

/// The trial with the steps' completions in place of its own, which are fewer. A reward that judged one of
/// its own works.
Trial with_steps(Trial trial, const std::vector<StepReport>& reports) {
  for (size_t reward = 0; reward < trial.alone.size(); ++reward) {
    for_each_sample(trial.groups, [&](const Sample& sample) {
      if (sample.rewards.at(reward).status == RewardStatus::kOk && trial.alone[reward].empty())
        trial.alone[reward].push_back(sample.rewards[reward]);
    });
  }
  std::vector<Group> groups;
  for (const StepReport& report : reports) add_drawn_groups(report.batch.value(), groups);
  std::erase_if(groups, [](const Group& group) { return group.samples.empty(); });
  if (groups.empty()) return trial;
  trial.groups = std::move(groups);
  trial.is_shortened = false;
  return trial;
}

/// Length and entropy of each step.
std::vector<StepFigures> figures_of(const std::vector<StepReport>& reports) {
  std::vector<StepFigures> steps;
  for (const StepReport& report : reports) {
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (const Json& row : report.completions) {
      const auto length = static_cast<double>(row.at("logprobs").size());
      sum += length;
      squares += square(length);
      ++count;
    }
    if (count < 2.0) continue;
    const double variance = std::max(0.0, squares - square(sum) / count) / (count - 1.0);
    steps.push_back({sum / count, std::sqrt(variance / count), find_metric(report.metrics, "entropy")});
  }
  return steps;
}

/// Rewards of completions: mean and deviation.
struct RewardMoments {
  double sum = 0.0, squares = 0.0;
  int64_t count = 0;

  void add(const Json& reward) {
    if (!reward.is_number()) return;
    sum += reward.get<double>();
    squares += square(reward.get<double>());
    ++count;
  }
  double mean() const {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  }
  double deviation() const {
    if (count < 2) return std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<double>(count);
    return std::sqrt(std::max(0.0, squares - square(sum) / n) / (n - 1));
  }
};

void describe_completions(const std::vector<StepReport>& reports, RunEstimate& estimate) {
  RewardMoments trained, drawn;
  double num_tokens = 0.0;
  for (const StepReport& report : reports) {
    for (const Json& row : report.completions) {
      name_rewards(row, estimate);
      count_cells(row, estimate);
      ++estimate.num_completions;
      estimate.num_cut += row.at("finish_reason") == "length";
      num_tokens += static_cast<double>(row.at("logprobs").size());
      const std::string untrained = row.value("untrained", "");
      estimate.num_trained += untrained.empty();
      if (untrained.empty()) trained.add(row.at("reward"));
      if (untrained != to_string(Untrained::kGreedy)) drawn.add(row.at("reward"));
    }
    const double zero = find_metric(report.metrics, "frac_reward_zero_std");
    estimate.num_without_difference += std::llround(zero * static_cast<double>(report.batch->groups.size())) +
                                       std::llround(find_metric(report.metrics, "rollout/no_difference"));
  }
  estimate.mean_tokens = num_tokens / static_cast<double>(std::max<int64_t>(1, estimate.num_completions));
  estimate.reward = trained.mean();
  estimate.reward_std = trained.deviation();
  estimate.drawn_reward = drawn.mean();
  for (RewardTrial& reward : estimate.rewards) {
    const int64_t judged = reward.counts["ok"];
    reward.mean =
        judged > 0 ? reward.mean / static_cast<double>(judged) : std::numeric_limits<double>::quiet_NaN();
  }
}

// ---- time

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Median seconds of the steps but the first, which also fills caches.
double median_timing(const std::vector<StepReport>& reports, const char* name) {
  std::vector<double> values;
  for (size_t i = reports.size() > 1 ? 1 : 0; i < reports.size(); ++i)
    values.push_back(find_metric(reports[i].timings, name));
  return median_of(values);
}

int64_t num_evaluations(const TrainConfig& config, int64_t num_steps, int64_t num_evaluated) {
  if (num_evaluated == 0) return 0;
  const int64_t every = config.train.eval_steps;
  return num_steps / every + (num_steps % every != 0 ? 1 : 0) + (config.train.eval_on_start ? 1 : 0);
}

/// Seconds of a whole evaluation. It is timed, or as large a part of it as there is time for: larger batches
/// are faster than those of a step, which take `sampling_s` a completion.
double evaluation_time(GrpoRun& run, double sampling_s) {
  const auto num_all = static_cast<double>(run.num_evaluated());
  const double share = std::min(1.0, kEvaluationBudget / (sampling_s * num_all));
  const auto begin = std::chrono::steady_clock::now();
  const int64_t count = run.evaluate_first(static_cast<int64_t>(share * num_all));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count() * num_all / static_cast<double>(count);
}

void estimate_time(const TrainConfig& config, const std::vector<StepReport>& reports, GrpoRun& run,
                   RunEstimate& estimate) {
  const double scale =
      static_cast<double>(estimate.step_prompts) / static_cast<double>(estimate.trial_prompts);
  estimate.step_s = median_timing(reports, "step_time") * scale;
  estimate.tokens_per_s = median_timing(reports, "perf/throughput");
  estimate.num_steps = run.loop().max_steps();
  estimate.num_evaluations = num_evaluations(config, estimate.num_steps, run.num_evaluated());
  if (estimate.num_evaluations == 0) return;
  const auto drawn = static_cast<double>(reports.back().completions.size());
  estimate.evaluation_s = evaluation_time(run, median_timing(reports, "timing_s/gen") / drawn);
}

/// Appends at least two steps to `reports` if the run has so many, and more while there is time.
void take_steps(GrpoRun& run, std::vector<StepReport>& reports) {
  double spent = 0.0;
  while (std::ssize(reports) < kMostSteps && (reports.size() < 2 || spent < kBudget) &&
         run.loop().goes_on()) {
    reports.push_back(run.loop().take_step());
    spent += find_metric(reports.back().timings, "step_time");
  }
}

/// Before other warnings: a policy that moves far is the cause of what its completions show.
void add_causes(const std::vector<Finding>& causes, std::vector<Finding>& findings) {
  findings.insert(findings.begin(), causes.begin(), causes.end());
  std::ranges::stable_sort(findings, {}, &Finding::severity);
}

}  // namespace

RunEstimate estimate_run(const TrainConfig& config, const fs::path& scratch) {
  int64_t count = 0;
  std::unique_ptr<GrpoRun> run;
  const auto make_run = [&](const TrainConfig& recipe) {
    run.reset();  // two models at once may not fit
    run = std::make_unique<GrpoRun>(in_directory(recipe, scratch / std::to_string(count++)), ResumeOptions());
  };
  make_run(config);
  RunEstimate estimate;
  estimate.step_prompts = estimate.trial_prompts = config.rollout.prompts_per_step;
  estimate.planned_memory = run->memory_plan().total();
  estimate.machine_memory = physical_memory_bytes();
  const Trial trial = run->draw_trial();
  std::vector<StepReport> reports;
  const TrainConfig small = with_small_steps(config);
  if (small.rollout.prompts_per_step < config.rollout.prompts_per_step) {
    make_run(small);
    reports.push_back(run->loop().take_step());
    const double scale = static_cast<double>(config.rollout.prompts_per_step) /
                         static_cast<double>(small.rollout.prompts_per_step);
    if (find_metric(reports.front().timings, "step_time") * scale < kLongStep) {
      reports.clear();
      make_run(config);
    } else {
      estimate.trial_prompts = small.rollout.prompts_per_step;
    }
  }
  take_steps(*run, reports);
  const Trial sample = with_steps(trial, reports);
  estimate.num_groups = std::ssize(sample.groups);
  estimate.compares_groups = compares_groups(config);
  estimate.findings = run->findings_of(sample);
  add_causes(movement_findings(config, figures_of(reports)), estimate.findings);
  describe_completions(reports, estimate);
  estimate_time(config, reports, *run, estimate);
  return estimate;
}

}  // namespace cohort
