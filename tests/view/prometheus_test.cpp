#include "cohort/view/prometheus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>

#include "tests/view/run_case.h"

namespace cohort {
namespace {

/// Reads the text exposition format: a value for each name with its labels, and the types of the names.
struct Exposition {
  explicit Exposition(const std::string& text) {
    static const std::regex kSample(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+))");
    static const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) gauge)");
    std::istringstream lines(text);
    std::string family;
    for (std::string line; std::getline(lines, line);) {
      std::smatch parts;
      if (std::regex_match(line, parts, kType)) {
        family = parts[1];
        EXPECT_TRUE(types.insert(family).second) << "two groups of " << family;
      } else {
        const bool is_sample = std::regex_match(line, parts, kSample);
        EXPECT_TRUE(is_sample) << line;
        if (!is_sample) continue;
        EXPECT_EQ(parts[1], family);
        EXPECT_TRUE(values.emplace(parts[1].str() + "{" + parts[2].str() + "}", std::stod(parts[3])).second)
            << line;
      }
    }
  }

  std::set<std::string> types;
  std::map<std::string, double> values;
};

TEST(Prometheus, GivesTheNewestValues) {
  const RunCase case_of_run;
  std::vector<RunView> runs = open_runs({case_of_run.path()});
  runs[0].set_name("a \"run\"\\\n");
  const std::string text = prometheus_text(runs);
  EXPECT_TRUE(text.ends_with("\n"));
  const Exposition read(text);
  const std::string run = R"(run="a \"run\"\\\n")";
  EXPECT_EQ(read.values.at("cohort_step{" + run + "}"), 6.0);
  EXPECT_EQ(read.values.at("cohort_reward{" + run + R"(,figure="reward"})"), 1.0);
  EXPECT_EQ(read.values.at("cohort_entropy{" + run + R"(,figure="entropy"})"), 2.0 / 6);
  EXPECT_EQ(read.values.at("cohort_rewards_accuracy_mean{" + run + R"(,figure="rewards/accuracy/mean"})"),
            1.0);
  EXPECT_TRUE(std::isnan(read.values.at("cohort_kl{" + run + R"(,figure="kl"})")));
}

TEST(Prometheus, KeepsRunsTogetherUnderAName) {
  const RunCase first, second;
  const std::vector<RunView> runs = open_runs({first.path(), second.path()});
  const Exposition read(prometheus_text(runs));
  EXPECT_EQ(read.values.count("cohort_reward{run=\"" + runs[1].name() + "\",figure=\"reward\"}"), 1u);
}

TEST(Prometheus, MakesNamesAndLabels) {
  EXPECT_EQ(prometheus_name("eval_rewards/a-b/pass@8"), "cohort_eval_rewards_a_b_pass_8");
  EXPECT_EQ(prometheus_name("größe"), "cohort_gr____e");
  EXPECT_EQ(prometheus_label("a\"b\\c\nd\xff"), "a\\\"b\\\\c\\nd\uFFFD");
}

}  // namespace
}  // namespace cohort
