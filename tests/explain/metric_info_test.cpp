#include "cohort/explain/metric_info.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/explain/metric_tables.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

constexpr const char* kPage = R"(# Metrics
### First things

| Name | Definition | Denominator | Healthy | Otherwise |
|---|---|---|---|---|
| `a/{func}/mean`, `/std`, `low` | a \| b | count | above 0 | try `x.y` |
| `plain`, `other` | what | - | - | - |

text | with a bar
| not | a table |

## Times

| Name | Definition | Healthy |
|---|---|---|
| `t/p50` | seconds | steady |
)";

TEST(MetricTables, HaveANameEachWithTheTextsOfItsRow) {
  const std::vector<MetricInfo> infos = read_metric_tables(kPage);
  std::vector<std::string> names;
  for (const MetricInfo& info : infos) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a/{func}/mean", "a/{func}/std", "a/{func}/low", "plain",
                                             "other", "t/p50"}));
  EXPECT_EQ(infos[1].section, "First things");
  EXPECT_EQ(infos[1].definition, "a | b");
  EXPECT_EQ(infos[1].denominator, "count");
  EXPECT_EQ(infos[1].healthy, "above 0");
  EXPECT_EQ(infos[1].otherwise, "try `x.y`");
  EXPECT_EQ(infos[3].denominator, "");
  EXPECT_EQ(infos[3].healthy, "");
  EXPECT_EQ(infos[5].section, "Times");
  EXPECT_EQ(infos[5].healthy, "steady");
  EXPECT_EQ(infos[5].denominator, "");
}

TEST(MetricTables, ARowWithAnotherNumberOfCellsIsRefused) {
  const auto message = message_of<FormatError>(
      [] { read_metric_tables("## T\n| Name | Definition |\n|---|---|\n| `a` | b | c |\n"); });
  EXPECT_EQ(message, "the table of \"T\" has 2 columns, and a row has 3 cells: | `a` | b | c |");
  EXPECT_EQ(message_of<FormatError>(
                [] { read_metric_tables("## T\n| Name | Definition |\n|---|---|\n| a | b |\n"); }),
            "a row of \"T\" has no name: | a | b |");
}

TEST(MetricInfos, AreThoseOfTheDocumentation) {
  const std::vector<MetricInfo> page = read_metric_tables(read_text(COHORT_SOURCE_DIR "/docs/metrics.md"));
  ASSERT_EQ(metric_infos().size(), page.size());
  EXPECT_GT(page.size(), 140U);
  for (size_t i = 0; i < page.size(); ++i) {
    EXPECT_EQ(metric_infos()[i].name, page[i].name);
    EXPECT_EQ(metric_infos()[i].otherwise, page[i].otherwise);
    const auto found = find_metric_infos(page[i].name);
    EXPECT_TRUE(std::ranges::count(found, &metric_infos()[i]) == 1) << page[i].name;
    EXPECT_FALSE(page[i].definition.empty()) << page[i].name;
  }
}

/// The documented names of a metric's explanations.
std::vector<std::string> names_of(const std::string& metric) {
  std::vector<std::string> names;
  for (const MetricInfo* info : find_metric_infos(metric)) names.push_back(info->name);
  return names;
}

using Names = std::vector<std::string>;

TEST(MetricInfos, AreFoundByTheNamesOfARun) {
  EXPECT_EQ(names_of("entropy"), (Names{"entropy", "entropy", "entropy"}));  // train, sft and dpo
  EXPECT_EQ(names_of("rewards/my_judge/mean"), Names{"rewards/{func}/mean"});
  EXPECT_EQ(names_of("rewards/chosen"), Names{"rewards/chosen"});
  EXPECT_EQ(names_of("attacker/rewards/opponent/std"), Names{"rewards/{func}/std"});
  EXPECT_EQ(names_of("defender/timing_s/reward/environment/p99"), Names{"timing_s/reward/{func}/p99"});
  EXPECT_EQ(names_of("eval_rewards/accuracy/pass@8"), Names{"eval_rewards/{func}/pass@{k}"});
  EXPECT_EQ(names_of("eval_rewards/accuracy/timeout"), Names{"eval_rewards/{func}/timeout"});
  EXPECT_EQ(names_of("eval_rewards/accuracies"), Names{"rewards/accuracies"});
  EXPECT_EQ(names_of("eval_accuracy"), Names{"accuracy"});
  EXPECT_EQ(names_of("eval_*"), (Names{"eval_*", "eval_*"}));
  EXPECT_EQ(names_of("monitor/rewards/hidden/gap"), Names{"monitor/{name}"});
  EXPECT_EQ(names_of("monitor/rewards/hidden/gap/alarm"), Names{"monitor/{name}/alarm"});
  EXPECT_EQ(names_of("clip_ratio/high_max"), Names{"clip_ratio/high_max"});
  EXPECT_EQ(names_of("completions/min_terminated_length"), Names{"completions/min_terminated_length"});
  EXPECT_EQ(names_of("sampling/sampling_logp_difference/max"),
            Names{"sampling/sampling_logp_difference/max"});
}

TEST(MetricInfos, OtherNamesAreNot) {
  for (const char* name : {"reward_mean", "", "min_length", "rewards/a/b/mean", "rewards//mean",
                           "eval_nonsense", "attacker/nonsense", "{func}"})
    EXPECT_EQ(names_of(name), Names{}) << name;
}

TEST(MetricInfos, NearNamesAreOffered) {
  EXPECT_EQ(similar_metrics("entrophy", 1), Names{"entropy"});
  EXPECT_EQ(similar_metrics("clipped_ratio", 1), Names{"completions/clipped_ratio"});
  EXPECT_EQ(similar_metrics("grad_nrom", 1), Names{"grad_norm"});
  EXPECT_EQ(similar_metrics("x", 3).size(), 3U);
}

// Each setting that an Otherwise names as `section.key` is one of docs/configuration.md.
TEST(MetricInfos, AdviceNamesRealSettings) {
  const std::string configuration = read_text(COHORT_SOURCE_DIR "/docs/configuration.md");
  size_t num_settings = 0;
  for (const MetricInfo& info : metric_infos()) {
    const std::string& text = info.otherwise;
    for (const char* section : {"model.", "lora.", "data.", "rollout.", "environment.", "agent.",
                                "objective.", "critic.", "optimizer.", "train.", "head."}) {
      for (size_t at = text.find(std::string("`") + section); at != std::string::npos;
           at = text.find(std::string("`") + section, at + 1)) {
        const size_t key = at + 1 + std::string(section).size();
        const std::string name = text.substr(key, text.find_first_of("` ", key) - key);
        EXPECT_NE(configuration.find("| `" + name + "` |"), std::string::npos)
            << info.name << ": " << section << name;
        ++num_settings;
      }
    }
  }
  EXPECT_GT(num_settings, 60U);
}

}  // namespace
}  // namespace cohort
