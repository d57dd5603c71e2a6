// Rules are silent on runs that learn.
#include "tests/explain/healthy_runs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/explain/run_finding.h"

namespace cohort {
namespace {

/// Problems and warnings, each with its text.
std::string complaints(const std::vector<RunFinding>& findings) {
  std::string text;
  for (const RunFinding& finding : findings) {
    if (finding.level != FindingLevel::kNote) text += finding.rule + ": " + finding.text + "\n";
  }
  return text;
}

std::string everything(const std::vector<RunFinding>& findings) {
  std::string text;
  for (const RunFinding& finding : findings) text += finding.rule + ": " + finding.text + "\n";
  return text;
}

TEST(HealthyRuns, AreSilentInEveryShape) {
  for (const HealthyShape shape : kHealthyShapes) {
    for (const int64_t steps : {1, 2, 7, 12, 30, 60, 100, 400}) {
      RunBuilder run(steps);
      make_healthy(run, shape, 3);
      EXPECT_EQ(everything(find_problems(run.write())), "")
          << static_cast<int>(shape) << ", " << steps << " steps";
    }
  }
}

TEST(HealthyRuns, NoiseIsNoFinding) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const HealthyShape shape = kHealthyShapes[seed % std::size(kHealthyShapes)];
    const int64_t steps = 10 + static_cast<int64_t>(seed * 37 % 150);
    RunBuilder run(steps);
    make_healthy(run, shape, 1000 * seed);
    EXPECT_EQ(complaints(find_problems(run.write())), "") << "seed " << seed << ", " << steps << " steps";
  }
}

// A shape is told from a failure by its numbers, not by the presence of a metric.
TEST(HealthyRuns, MissingMetricsAndNullsAreNoFinding) {
  RunBuilder whole(60);
  make_healthy(whole, HealthyShape::kLine, 5);
  std::vector<std::string> names;
  for (const auto& [name, shape] : whole.metrics) names.push_back(name);
  for (const std::string& name : names) {
    RunBuilder without(60), nulls(60);
    make_healthy(without, HealthyShape::kLine, 5);
    make_healthy(nulls, HealthyShape::kLine, 5);
    without.metrics.erase(name);
    nulls.metrics[name] = constant(std::nan(""));
    EXPECT_EQ(complaints(find_problems(without.write())), "") << "without " << name;
    EXPECT_EQ(complaints(find_problems(nulls.write())), "") << name << " null";
  }
}

TEST(HealthyRuns, AnEmptyRunIsNoFinding) {
  RunBuilder empty(0);
  set_recipe(empty);
  EXPECT_EQ(everything(find_problems(empty.write())), "");
}

TEST(HealthyRuns, MeansOfThemAreOfTheirSetting) {
  RunBuilder critic(60);  // all rewards of a group may be equal where a critic is the baseline
  make_healthy(critic, HealthyShape::kLine, 5);
  critic.set("objective.baseline", "\"critic\"");
  critic.set("critic.pretrain_steps", "20");
  critic.metrics["frac_reward_zero_std"] = constant(1.0);
  critic.metrics["grad_norm"] = jump(0.0, 0.3, 20);
  critic.metrics["critic/vf_explained_var"] = noisy(line(-0.5, 0.6, 60), 0.1, 2);
  EXPECT_EQ(complaints(find_problems(critic.write())), "");

  RunBuilder ahead(60);
  make_healthy(ahead, HealthyShape::kLine, 5);
  ahead.set("rollout.prompts_ahead", "8");
  ahead.metrics["sampling/sampling_logp_difference/max"] = constant(0.4);
  EXPECT_EQ(complaints(find_problems(ahead.write())), "");

  RunBuilder measured(60);
  make_healthy(measured, HealthyShape::kLine, 5);
  measured.set("rollout.ignore_eos", "true");
  measured.metrics["completions/clipped_ratio"] = constant(1.0);
  EXPECT_EQ(complaints(find_problems(measured.write())), "");

  RunBuilder selected(60);  // DAPO keeps groups with difference: `reward` stays in the middle
  make_healthy(selected, HealthyShape::kLine, 5);
  selected.set("rollout.dynamic_sampling", "true");
  selected.metrics["rollout/reward"] = selected.metrics["reward"];
  selected.metrics["reward"] = noisy(constant(0.45), 0.02, 4);
  selected.metrics["frac_reward_zero_std"] = constant(0.0);
  EXPECT_EQ(complaints(find_problems(selected.write())), "");
}

}  // namespace
}  // namespace cohort
