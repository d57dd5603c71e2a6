// Evidence and monitors, by hand arithmetic.
#include "cohort/train/grpo/monitor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/step_metrics.h"
#include "tests/core/test_files.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// Two groups of three samples, judged by `proxy`, which trains, and `truth`, which checks it.
Batch two_groups() {
  const int64_t lengths[2][3] = {{4, 6, 8}, {5, 5, 5}};
  const double proxy[2][3] = {{1.0, 0.5, 0.0}, {1.0, 1.0, 1.0}};
  const double truth[2][3] = {{1.0, 0.0, 0.5}, {0.25, 0.0, 1.0}};
  std::vector<Group> groups(2);
  for (int g = 0; g < 2; ++g) {
    for (int i = 0; i < 3; ++i) {
      groups[g].samples.push_back(sample_of({ok(proxy[g][i]), ok(truth[g][i])}, lengths[g][i]));
      groups[g].samples.back().completion.finish_reason =
          lengths[g][i] == 8 ? FinishReason::kLength : FinishReason::kStop;
    }
  }
  Batch step = batch_of(std::move(groups), {"proxy", "truth"}, {2.0, 0.0});
  for (int g = 0; g < 2; ++g) step.groups[g].prompt.id = str("row-", g);
  step.groups[1].has_no_difference = true;
  return step;
}

const std::vector<Checker> kCheckers{{.checker = 1, .checked = 0}};

MonitorConfig watching(const char* metric, int64_t window, const char* action) {
  MonitorConfig config;
  config.metric = metric;
  config.window = window;
  config.action = action;
  return config;
}

MonitorConfig above(const char* metric, double bound, int64_t window = 1, const char* action = "warn") {
  MonitorConfig config = watching(metric, window, action);
  config.above = bound;
  return config;
}

MonitorConfig below(const char* metric, double bound, int64_t window = 1, const char* action = "warn") {
  MonitorConfig config = watching(metric, window, action);
  config.below = bound;
  return config;
}

MonitorConfig dropping(const char* metric, double share, int64_t window, const char* action = "warn") {
  MonitorConfig config = watching(metric, window, action);
  config.drop = share;
  return config;
}

TEST(Correlation, IsPearsons) {
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {2, 4, 6}), 1.0);
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {3, 2, 1}), -1.0);
  // Deviations -1 0 1 and -1 1 0: 1 / sqrt(2 * 2).
  EXPECT_DOUBLE_EQ(correlation({1, 2, 3}, {1, 3, 2}), 0.5);
  EXPECT_TRUE(std::isnan(correlation({1, 2, 3}, {4, 4, 4})));
  EXPECT_TRUE(std::isnan(correlation({1}, {1})));
  EXPECT_TRUE(std::isnan(correlation({}, {})));
}

TEST(LengthVariation, IsDeviationOverMean) {
  const Batch step = two_groups();
  EXPECT_DOUBLE_EQ(length_variation(step.groups[0]), 2.0 / 6.0);  // 4, 6, 8
  EXPECT_EQ(length_variation(step.groups[1]), 0.0);
  EXPECT_EQ(length_variation({}), 0.0);
}

TEST(Evidence, IsComputedFromScoresAndLengths) {
  Batch step = two_groups();
  Metrics metrics = evidence_metrics(step, kCheckers);
  EXPECT_DOUBLE_EQ(find_metric(metrics, "completions/length_variation"), 1.0 / 6.0);
  EXPECT_DOUBLE_EQ(find_metric(metrics, "rewards/proxy/correlation"), 1.0);
  // proxy - truth: 0, 0.5, -0.5, 0.75, 1, 0.
  EXPECT_DOUBLE_EQ(find_metric(metrics, "rewards/truth/gap"), 1.75 / 6.0);

  // Cells that are not ok and completions without a total take no part.
  step.groups[0].samples[1].rewards[1].status = RewardStatus::kTimeout;
  step.groups[1].samples[1].rewards[0].status = RewardStatus::kError;
  add_up_rewards(step);
  EXPECT_FALSE(step.groups[1].samples[1].has_reward());
  metrics = evidence_metrics(step, kCheckers);
  EXPECT_DOUBLE_EQ(find_metric(metrics, "rewards/truth/gap"), 0.25 / 4.0);
  // proxy 1 0.5 0 1 1 with totals twice that.
  EXPECT_DOUBLE_EQ(find_metric(metrics, "rewards/proxy/correlation"), 1.0);
  // truth 1 0.5 0.25 1 with totals 2 0 2 2: deviations 5 -3 -7 5 (/16) and 1 -3 1 1 (/2).
  EXPECT_DOUBLE_EQ(find_metric(metrics, "rewards/truth/correlation"), 12.0 / std::sqrt(108.0 * 12.0));
  for_each_sample(step.groups, [](Sample& sample) { sample.rewards[1].status = RewardStatus::kSkipped; });
  metrics = evidence_metrics(step, kCheckers);
  EXPECT_TRUE(std::isnan(find_metric(metrics, "rewards/truth/gap")));
  EXPECT_TRUE(std::isnan(find_metric(metrics, "rewards/truth/correlation")));
}

TEST(Evidence, NamesTheCompletionsBehindIt) {
  Batch step = two_groups();
  step.groups[0].samples[2].rewards[0].status = RewardStatus::kTimeout;
  const auto concerned = [&](const MonitorConfig& monitor) {
    return concerned_samples(monitor, step, kCheckers);
  };
  using Places = std::vector<int64_t>;
  EXPECT_EQ(concerned(above("frac_reward_zero_std", 0.1)), (Places{3, 4, 5}));
  EXPECT_EQ(concerned(above("completions/clipped_ratio", 0.1)), (Places{2}));
  EXPECT_EQ(concerned(below("completions/length_variation", 0.2)), (Places{3, 4, 5}));
  EXPECT_EQ(concerned(below("completions/length_variation", 0.4)), (Places{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(concerned(above("completions/length_variation", 0.2)), Places{});
  EXPECT_EQ(concerned(above("rewards/truth/gap", 0.1)), (Places{4, 3, 1}));  // largest gap first
  EXPECT_EQ(concerned(above("rewards/proxy/timeout", 0.1)), (Places{2}));
  EXPECT_EQ(concerned(above("entropy", 0.1)), Places{});
  // Number 2 has the lowest total. Of the high totals, truth is lowest for 4 and highest for 0 and 5.
  const Places low = concerned(below("rewards/truth/correlation", 0.1));
  const Places high = concerned(above("rewards/truth/correlation", 0.1));
  EXPECT_EQ(low.front(), 4);
  EXPECT_EQ(high.front(), 0);
  EXPECT_EQ(high[1], 5);
  EXPECT_EQ(high.back(), 2);
}

TEST(MonitorConfigs, AreRefusedWhereTheyContradictThemselves) {
  const auto refusal = [](const std::vector<MonitorConfig>& monitors) {
    return message_of<ConfigError>([&] { check_monitors(monitors); });
  };
  EXPECT_NE(refusal({above("", 1)}).find("no `metric`"), std::string::npos);
  EXPECT_NE(refusal({above("kl", 1), above("kl", 2)}).find("two monitors"), std::string::npos);
  MonitorConfig both = above("kl", 1);
  both.below = 0.0;
  EXPECT_NE(refusal({both}).find("one of `above`, `below` and `drop`"), std::string::npos);
  both.above.reset(), both.below.reset();
  EXPECT_NE(refusal({both}).find("one of `above`, `below` and `drop`"), std::string::npos);
  for (const MonitorConfig& monitor :
       {above("kl", 1, 1, "mask"), below("completions/clipped_ratio", 1, 1, "mask"),
        below("rewards/a/gap", 1, 1, "mask"), above("completions/length_variation", 1, 1, "mask")}) {
    EXPECT_NE(refusal({monitor}).find("use warn or stop"), std::string::npos) << monitor.metric;
  }
  MonitorConfig named = above("kl", 2, 1, "stop");
  named.name = "far";
  EXPECT_NO_THROW(check_monitors({above("kl", 1), named, above("rewards/a/gap", 1, 1, "mask"),
                                  below("completions/length_variation", 1, 1, "mask")}));
}

TEST(MonitorWindow, AlarmsWhenTheMeanOfAFullWindowIsOut) {
  Monitor monitor(above("kl", 0.5, 3));
  monitor.observe(9.0);
  monitor.observe(0.0);
  EXPECT_FALSE(monitor.is_alarmed());
  EXPECT_TRUE(std::isnan(monitor.mean()));
  monitor.observe(0.0);  // 3
  EXPECT_TRUE(monitor.is_alarmed());
  EXPECT_TRUE(monitor.should_warn());
  monitor.observe(2.0);  // 2 / 3
  EXPECT_TRUE(monitor.is_alarmed());
  EXPECT_FALSE(monitor.should_warn());
  monitor.observe(kNothing);  // says nothing
  EXPECT_TRUE(monitor.is_alarmed());
  EXPECT_FALSE(monitor.should_warn());
  monitor.observe(0.0);  // 2 / 3, the third step since
  EXPECT_TRUE(monitor.should_warn());
  monitor.observe(-0.5);  // exactly 0.5
  EXPECT_FALSE(monitor.is_alarmed());
  EXPECT_FALSE(monitor.should_warn());
}

TEST(MonitorWindow, IsHeldAgainstItsBest) {
  Monitor monitor(dropping("reward", 0.5, 2));
  for (const double value : {0.2, 0.6, 0.6}) {  // means 0.4 and 0.6
    monitor.observe(value);
    EXPECT_FALSE(monitor.is_alarmed());
  }
  monitor.observe(0.0);  // 0.3 is half of the best
  EXPECT_FALSE(monitor.is_alarmed());
  Monitor restored(dropping("reward", 0.5, 2));
  restored.load(monitor.save());
  for (Monitor* other : {&monitor, &restored}) {
    other->observe(0.25);  // 0.125
    EXPECT_TRUE(other->is_alarmed());
    EXPECT_EQ(
        other->evidence(),
        "monitor reward: reward is 0.125 over the last 2 steps (0 to 0.25), below 0.3, which is 50 % under "
        "its best, 0.6");
  }
  Monitor negative(dropping("reward", 0.5, 1));
  for (const double value : {-1.0, -1.5}) negative.observe(value);  // -1 - 0.5
  EXPECT_FALSE(negative.is_alarmed());
  negative.observe(-1.6);
  EXPECT_TRUE(negative.is_alarmed());
}

TEST(BestWindowTest, IsTheLastStepOfTheBestMean) {
  BestWindow best(2);
  best.observe(1, 5.0, true);
  EXPECT_FALSE(best.step());
  best.observe(2, 1.0, true);  // 3
  best.observe(3, 3.0, true);  // 2
  EXPECT_EQ(best.step(), 2);
  best.observe(4, kNothing, true);
  best.observe(5, 4.0, true);  // 3.5
  EXPECT_EQ(best.step(), 5);
  best.observe(6, 9.0, false);
  EXPECT_EQ(best.step(), 5);
  BestWindow restored(2);
  restored.load(best.save());
  restored.observe(7, -3.0, true);  // 3
  EXPECT_EQ(restored.step(), 5);
  restored.observe(8, 12.0, true);  // 4.5
  EXPECT_EQ(restored.step(), 8);
}

// The reward is best at step 4; the window of 2 had not seen step 6 when the monitor alarmed at 8.
TEST(MonitorReports, NameTheLastSoundStep) {
  Monitors monitors({dropping("reward", 0.5, 2, "rollback")});
  const double rewards[] = {0.1, 0.2, 0.8, 0.8, 0.6, 0.6, 0.3, 0.2};
  const int64_t sound[] = {-1, 0, 1, 2, 3, 4, 4, 4};
  for (int64_t step = 1; step <= 8; ++step) {
    monitors.observe({{"reward", rewards[step - 1]}});
    Batch batch;
    batch.step = step;
    const MonitorReport report = monitors.report(batch, {});
    EXPECT_EQ(report.sound_step, sound[step - 1]) << step;
    EXPECT_EQ(report.rollback.has_value(), step == 8) << step;
    EXPECT_EQ(report.stop, std::nullopt);
  }
  EXPECT_EQ(Monitors({dropping("reward", 0.5, 2)}).report(Batch{}, {}).sound_step, std::nullopt);
}

TEST(MonitorReports, OfEvaluationsComeWithThem) {
  Monitors monitors({below("eval_reward", 0.9, 2, "stop"), above("kl", 0.5)}, /*eval_steps=*/5);
  EXPECT_EQ(monitors.report(Batch{}, {}).metrics.size(), 2u) << "of kl";
  EXPECT_EQ(monitors.report_evaluation({{"eval_reward", 0.7}}).stop, std::nullopt);
  const MonitorReport report = monitors.report_evaluation({{"eval_reward", 1.0}});
  EXPECT_EQ(report.stop,
            "monitor eval_reward: eval_reward is 0.85 over the last 2 evaluations (0.7 to 1), below 0.9");
  EXPECT_EQ(find_metric(report.metrics, "monitor/eval_reward/alarm"), 1.0);
  // A window of evaluations lasts as many steps.
  Batch step;
  step.step = 100;
  Monitors back({below("eval_reward", 0.9, 2, "rollback")}, /*eval_steps=*/5);
  EXPECT_EQ(back.report(step, {}).unseen_step, 90);
}

TEST(MonitorWindow, HasALowerBoundToo) {
  Monitor monitor(below("entropy", 0.5, 2));
  monitor.observe(0.2);
  EXPECT_FALSE(monitor.is_alarmed());
  monitor.observe(0.4);
  EXPECT_TRUE(monitor.is_alarmed());
  EXPECT_EQ(monitor.evidence(),
            "monitor entropy: entropy is 0.3 over the last 2 steps (0.2 to 0.4), below 0.5");
  monitor.observe(0.6);
  EXPECT_FALSE(monitor.is_alarmed());
}

TEST(MonitorReports, SayWhatIsWrongAndWhere) {
  const Batch step = two_groups();
  Monitors monitors({above("rewards/truth/gap", 0.2), above("entropy", 5.0)});
  monitors.observe({{"rewards/truth/gap", 0.25}});
  monitors.observe({{"entropy", 1.0}, {"kl", 3.0}});
  const MonitorReport report = monitors.report(step, kCheckers);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(
      report.warnings[0],
      "monitor rewards/truth/gap: rewards/truth/gap is 0.25 over the last 1 step, above 0.2; for example "
      "sample 1 of prompt row-1");
  EXPECT_FALSE(report.stop);
  EXPECT_EQ(report.metrics, (Metrics{{"monitor/rewards/truth/gap", 0.25},
                                     {"monitor/rewards/truth/gap/alarm", 1.0},
                                     {"monitor/entropy", 1.0},
                                     {"monitor/entropy/alarm", 0.0}}));
}

TEST(MonitorReports, MaskOnlyWhileThereIsAnAlarm) {
  const Batch step = two_groups();
  Monitors monitors({above("rewards/truth/gap", 0.2, 2, "mask"), above("frac_reward_zero_std", 0.4)});
  using Flags = std::vector<uint8_t>;
  const auto masked = [&] {
    Batch masked_step = step;
    const bool masks_any = monitors.mask(masked_step, kCheckers);
    Flags flags;
    for_each_sample(masked_step.groups,
                    [&](const Sample& sample) { flags.push_back(sample.mask == LossMask::kMonitor); });
    EXPECT_EQ(masks_any, flags != Flags(6, 0));
    return flags;
  };
  monitors.observe({{"rewards/truth/gap", 0.9}, {"frac_reward_zero_std", 0.5}});
  EXPECT_EQ(masked(), (Flags{0, 0, 0, 0, 0, 0}));
  monitors.observe({{"rewards/truth/gap", 0.1}});
  EXPECT_EQ(masked(), (Flags{0, 1, 0, 1, 1, 0}));
  const MonitorReport report = monitors.report(step, kCheckers);
  EXPECT_EQ(find_metric(report.metrics, "monitor/rewards/truth/gap/masked"), 3.0);
  EXPECT_NE(report.warnings.at(0).find("; 3 completions carry no loss"), std::string::npos);
  monitors.observe({{"rewards/truth/gap", 0.2}});
  EXPECT_EQ(masked(), (Flags{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(find_metric(monitors.report(step, kCheckers).metrics, "monitor/rewards/truth/gap/masked"), 0.0);
}

TEST(MonitorReports, AStopBeginsANewWindow) {
  const Batch step = two_groups();
  Monitors monitors({above("kl", 0.5, 2, "stop")});
  for (int i = 0; i < 2; ++i) {
    monitors.observe({{"kl", 1.0}});
    EXPECT_FALSE(monitors.report(step, kCheckers).stop);
    monitors.observe({{"kl", 2.0}});
    const MonitorReport report = monitors.report(step, kCheckers);
    EXPECT_EQ(report.stop.value_or(""), "monitor kl: kl is 1.5 over the last 2 steps (1 to 2), above 0.5");
    EXPECT_EQ(find_metric(report.metrics, "monitor/kl/alarm"), 1.0);
    EXPECT_TRUE(report.warnings.empty());
  }
}

TEST(MonitorReports, GoOnFromWhatWasSaved) {
  const Batch step = two_groups();
  const std::vector<MonitorConfig> configs{above("kl", 0.3, 3), below("entropy", 1.0, 2)};
  Monitors monitors(configs), other(configs);
  for (const double value : {0.1, 0.7, 1.0 / 3.0, 0.9})
    monitors.observe({{"kl", value}, {"entropy", value / 7.0}});
  other.load(Json::parse(monitors.save().dump()));
  EXPECT_EQ(other.save(), monitors.save());
  for (const double value : {0.1, 0.2, 0.05, 0.4}) {
    monitors.observe({{"kl", value}, {"entropy", value}});
    other.observe({{"kl", value}, {"entropy", value}});
    const MonitorReport expected = monitors.report(step, kCheckers), report = other.report(step, kCheckers);
    EXPECT_EQ(report.metrics, expected.metrics);
    EXPECT_EQ(report.warnings, expected.warnings);
  }
}

TEST(MonitorReports, ANameThatNoMetricHasIsRefused) {
  const Monitors monitors({above("frac_reward_zero_sd", 0.5)});
  const std::string message = message_of<ConfigError>(
      [&] { monitors.check_metrics({{"reward", 0.0}, {"frac_reward_zero_std", 0.0}}); });
  EXPECT_NE(message.find("did you mean \"frac_reward_zero_std\""), std::string::npos) << message;
  EXPECT_NO_THROW(monitors.check_metrics({{"frac_reward_zero_sd", 0.0}}));
}

TEST(RewardMetrics, AreNullWhereNothingCouldBeJudged) {
  const RewardResult timeout = failed(RewardStatus::kTimeout), skipped = failed(RewardStatus::kSkipped);
  Group group;
  group.samples = {sample_of({timeout, ok(0.5)}), sample_of({timeout, skipped}),
                   sample_of({timeout, skipped})};
  Batch batch = batch_of({group}, {"a", "b"}, {1.0, 0.25});
  const RewardSummary summary = assign_credit(batch, {});
  const Metrics metrics = reward_metrics(batch, summary);
  for (const char* name : {"reward", "reward_std", "rewards/a/mean", "rewards/a/std", "rewards/b/std"})
    EXPECT_TRUE(std::isnan(find_metric(metrics, name))) << name;
  EXPECT_EQ(find_metric(metrics, "rewards/b/mean"), 0.5);
  EXPECT_EQ(find_metric(metrics, "rewards/a/timeout"), 3.0);
  EXPECT_EQ(find_metric(metrics, "rewards/b/skipped"), 2.0);
  EXPECT_EQ(find_metric(metrics, "rewards/b/weight"), 0.25);
}

}  // namespace
}  // namespace cohort
