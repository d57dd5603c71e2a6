#include "cohort/train/grpo/run_estimate.h"

#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <cmath>
#include <filesystem>
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
constexpr double kLongStep = 20.0, kBudget = 40.0;  // seconds
constexpr int64_t kMostSteps = 5;

/// A directory for a run that leaves nothing.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (fs::temp_directory_path() / "cohort-preflight-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw UserError(str(name, ": the directory can't be made; set TMPDIR to one that can be written to"));
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

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

/// Rewards of the trained completions: mean and deviation.
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
  RewardMoments moments;
  double num_tokens = 0.0;
  for (const StepReport& report : reports) {
    for (const Json& row : report.completions) {
      name_rewards(row, estimate);
      count_cells(row, estimate);
      ++estimate.num_completions;
      estimate.num_cut += row.at("finish_reason") == "length";
      num_tokens += static_cast<double>(row.at("logprobs").size());
      if (!row.contains("untrained")) moments.add(row.at("reward"));
    }
    const int64_t groups = estimate.trial_prompts;
    estimate.num_groups += groups;
    estimate.num_without_difference +=
        std::llround(find_metric(report.metrics, "frac_reward_zero_std") * static_cast<double>(groups));
  }
  estimate.mean_tokens = num_tokens / static_cast<double>(std::max<int64_t>(1, estimate.num_completions));
  estimate.reward = moments.mean();
  estimate.reward_std = moments.deviation();
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

void estimate_time(const TrainConfig& config, const std::vector<StepReport>& reports, GrpoRun& run,
                   RunEstimate& estimate) {
  const double scale =
      static_cast<double>(estimate.step_prompts) / static_cast<double>(estimate.trial_prompts);
  estimate.step_s = median_timing(reports, "step_time") * scale;
  estimate.tokens_per_s = median_timing(reports, "perf/throughput");
  estimate.num_steps = run.loop().max_steps();
  estimate.num_evaluations = num_evaluations(config, estimate.num_steps, run.num_evaluated());
  const auto drawn = static_cast<double>(reports.back().completions.size());
  estimate.evaluation_s =
      median_timing(reports, "timing_s/gen") / drawn * static_cast<double>(run.num_evaluated());
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

}  // namespace

RunEstimate estimate_run(TrainConfig config) {
  const ScratchDirectory scratch;
  int64_t count = 0;
  std::unique_ptr<GrpoRun> run;
  const auto make_run = [&](const TrainConfig& recipe) {
    run.reset();  // two models at once may not fit
    run = std::make_unique<GrpoRun>(in_directory(recipe, scratch.path() / std::to_string(count++)),
                                    ResumeOptions());
  };
  make_run(config);
  RunEstimate estimate;
  estimate.step_prompts = estimate.trial_prompts = config.rollout.prompts_per_step;
  estimate.planned_memory = run->memory_plan().total();
  estimate.machine_memory = physical_memory_bytes();
  estimate.findings = run->trial_findings();
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
  describe_completions(reports, estimate);
  estimate_time(config, reports, *run, estimate);
  return estimate;
}

}  // namespace cohort
