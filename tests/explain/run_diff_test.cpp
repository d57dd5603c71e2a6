#include "cohort/explain/run_diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "tests/explain/healthy_runs.h"

namespace cohort {
namespace {

TEST(RunDiff, SettingsAreFlat) {
  const Json a{{"seed", 1},
               {"run", {{"dir", "x"}}},
               {"reward", {{{"name", "f"}, {"weight", 1.0}}, {{"name", "g"}}}},
               {"data", {{"path", {"p", "q"}}}}};
  const Json b{{"seed", 1},
               {"run", {{"dir", "y"}}},
               {"reward", {{{"name", "f"}, {"weight", 0.5}}}},
               {"data", {{"path", {"p"}}}}};
  const std::vector<SettingDifference> settings = compare_settings(a, b);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].key, "data.path");
  EXPECT_EQ(settings[0].b, Json({"p"}));
  EXPECT_EQ(settings[1].key, "reward.0.weight");
  EXPECT_EQ(settings[1].a, 1.0);
  EXPECT_EQ(settings[1].b, 0.5);
  EXPECT_EQ(settings[2].key, "reward.1.name");
  EXPECT_EQ(settings[2].a, "g");
  EXPECT_TRUE(settings[2].b.is_null());
}

/// Two runs of 40 steps; the second one has a higher reward, no `kl`, and other prompts but "p1" and "p2".
struct TwoRuns {
  TwoRuns() {
    for (RunBuilder* run : {&a, &b}) {
      make_healthy(*run, HealthyShape::kLine, 4);
      run->completions.clear();
    }
    a.metrics["reward"] = constant(0.25);
    b.metrics["reward"] = [](int64_t step) { return step % 2 == 0 ? 0.5 : 0.75; };
    b.metrics.erase("kl");
    b.set("objective.beta", "0.0");
    add(a, 1, 1, {0.0, 0.5});
    add(a, 2, 1, {1.0});
    add(a, 9, 1, {1.0, 1.0});
    add(a, 20, 3, {1.0});
    add(b, 3, 1, {1.0, 0.0});
    add(b, 8, 1, {0.0});
    add(b, 9, 2, {0.25});
  }

  static void add(RunBuilder& run, int64_t step, int64_t prompt, const std::vector<double>& rewards) {
    for (size_t i = 0; i < rewards.size(); ++i)
      run.add_completion(step, prompt, static_cast<int64_t>(i), "x", {{"reward", rewards[i]}});
  }

  RunBuilder a{40}, b{40};
};

TEST(RunDiff, ComparesSettingsMetricsAndPrompts) {
  TwoRuns runs;
  runs.a.add_completion(1, 2, 0, "x", {{"reward", 1.0}});
  std::ranges::stable_sort(runs.a.completions, {},
                           [](const Json& line) { return line["step"].get<int64_t>(); });
  const RunDiff diff = compare_runs(runs.a.write(), runs.b.write());
  ASSERT_EQ(diff.settings.size(), 1U);
  EXPECT_EQ(diff.settings[0].key, "objective.beta");
  const auto reward = std::ranges::find(diff.metrics, "reward", &MetricDifference::name);
  ASSERT_NE(reward, diff.metrics.end());
  EXPECT_EQ(reward->a->mean, 0.25);
  EXPECT_EQ(reward->a->error, 0.0);
  EXPECT_EQ(reward->b->mean, 0.625);  // of the last four steps
  EXPECT_NEAR(reward->b->error.value(), 0.25 / std::sqrt(2.0) / 2.0, 0.01);
  const auto kl = std::ranges::find(diff.metrics, "kl", &MetricDifference::name);
  EXPECT_TRUE(kl->a.has_value());
  EXPECT_FALSE(kl->b.has_value());
  ASSERT_EQ(diff.num_shared_prompts, 2);
  EXPECT_EQ(diff.prompts[0].prompt_id, "p1");  // ends at 1 and 0
  EXPECT_EQ(diff.prompts[0].a.begin, 0.25);
  EXPECT_EQ(diff.prompts[0].a.end, 1.0);
  EXPECT_EQ(diff.prompts[0].b.begin, 0.5);
  EXPECT_EQ(diff.prompts[0].b.end, 0.0);
  EXPECT_EQ(diff.prompts[1].prompt_id, "p2");
  EXPECT_EQ(diff.prompts[1].b.end, 0.25);
}

TEST(RunDiff, IsWrittenAsJsonAndText) {
  TwoRuns runs;
  const RunDiff diff = compare_runs(runs.a.write(), runs.b.write());
  const Json json = to_json(diff);
  EXPECT_EQ(json["settings"][0], Json({{"key", "objective.beta"}, {"a", 0.04}, {"b", 0.0}}));
  EXPECT_EQ(json["prompts"][0]["a"]["begin"], 0.25);
  EXPECT_EQ(json["num_shared_prompts"], 1);
  const auto kl =
      std::ranges::find_if(json["metrics"], [](const Json& metric) { return metric["name"] == "kl"; });
  EXPECT_TRUE((*kl)["b"].is_null());
  const std::string text = to_text(diff);
  EXPECT_NE(text.find("settings: 1 differ\n  objective.beta: 0.04 -> 0.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  reward: 0.25 ± 0 -> 0.625 ± "), std::string::npos) << text;
  EXPECT_NE(text.find("prompts: 1 are in both runs\n  \"p1\": reward 0.25 to 1 -> 0.5 to 0\n"),
            std::string::npos)
      << text;
}

TEST(RunDiff, ASingleValueTellsNothing) {
  RunDiff diff;
  diff.metrics = {{"eval_reward", MetricEnd{0.1, std::nullopt}, MetricEnd{0.9, 0.01}},
                  {"kl", MetricEnd{0.1, 0.01}, std::nullopt},
                  {"reward", MetricEnd{0.1, 0.01}, MetricEnd{0.9, 0.01}}};
  const std::string text = to_text(diff);
  EXPECT_NE(text.find(": 1 of 2 differ by more than 3 standard errors; 1 have one value"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("eval_reward"), std::string::npos) << text;
  EXPECT_NE(text.find("  reward: 0.1 ± 0.01 -> 0.9 ± 0.01\n  only the first run has: kl\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(to_json(diff)["metrics"][0]["a"]["error"].is_null());
}

TEST(RunDiff, OfARunWithItselfIsEmpty) {
  TwoRuns runs;
  const RunDiff diff = compare_runs(runs.a.write(), runs.a.write());
  EXPECT_TRUE(diff.settings.empty());
  EXPECT_NE(to_text(diff).find("0 of "), std::string::npos);
  EXPECT_THROW(compare_runs(runs.a.write(), "/nowhere"), ConfigError);
}

}  // namespace
}  // namespace cohort
