// What a trial says of a run, from trials made by hand.
#include "cohort/train/grpo/preflight.h"

#include <gtest/gtest.h>

#include "tests/core/test_files.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A group of one reward, whose completions ended by themselves.
void add_group(const std::vector<RewardResult>& results, Trial& trial,
               FinishReason reason = FinishReason::kStop) {
  Group group{.prompt = {"rows.jsonl:1", {1}, "p", {{"question", "q"}, {"level", 2}}}};
  for (const RewardResult& result : results) {
    group.samples.push_back(sample_of({result}));
    group.samples.back().completion.finish_reason = reason;
  }
  trial.groups.push_back(std::move(group));
}

Trial trial_of(const std::vector<RewardResult>& results, FinishReason reason = FinishReason::kStop) {
  Trial trial;
  trial.alone.resize(1);
  trial.may_recover = {0};
  add_group(results, trial, reason);
  return trial;
}

TrainConfig recipe(const RewardConfig& reward) {
  TrainConfig config;
  config.reward = {reward};
  return config;
}

std::vector<std::string> texts(const std::vector<Finding>& findings, Severity severity) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    if (finding.severity == severity) texts.push_back(finding.text);
  }
  return texts;
}

const RewardConfig kPython{.name = "r", .type = "python", .keys = {{"function", "mine.py:f"}}};

TEST(Preflight, ARewardThatFailsOnAllIsAnErrorThatSaysWhatToMend) {
  Trial trial = trial_of(
      {failed(RewardStatus::kError, "row: mine.py:3: KeyError: 'a'"), failed(RewardStatus::kError, "b")});
  trial.alone[0] = {failed(RewardStatus::kError, "c")};
  EXPECT_EQ(texts(reward_findings(recipe(kPython), trial), Severity::kError),
            std::vector<std::string>{
                "reward r failed on all 2 trial completions: row: mine.py:3: KeyError: 'a'; mend "
                "reward.0.function = \"mine.py:f\""});
  RewardConfig logged = kPython;
  logged.weight = 0.0;
  EXPECT_EQ(reward_findings(recipe(logged), trial).at(0).severity, Severity::kWarning);
}

TEST(Preflight, AMissingColumnIsNamedWithThoseThatAre) {
  Trial trial = trial_of({failed(RewardStatus::kUnparsed, "row: column \"answer\" holds no answer"),
                          failed(RewardStatus::kSkipped, "")});
  const auto findings = reward_findings(recipe({.name = "r", .type = "accuracy"}), trial);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_NE(findings[0].text.find("holds no answer; the rows have the columns question, level"),
            std::string::npos)
      << findings[0].text;
}

TEST(Preflight, ARewardThatWorksOnSomethingIsNoError) {
  const RewardResult raised = failed(RewardStatus::kError, "raised");
  const auto some = reward_findings(recipe(kPython), trial_of({raised, ok(0.0)}));
  EXPECT_EQ(texts(some, Severity::kWarning),
            std::vector<std::string>{"reward r failed on 1 of 2 trial completions: raised; mend "
                                     "reward.0.function = \"mine.py:f\""});
  EXPECT_NE(reward_findings(recipe(kPython), trial_of({raised, raised, ok(0.0)}))
                .at(0)
                .text.find("The run stops if so many fail: train.max_failed_share = 0.5"),
            std::string::npos);
  std::vector<RewardResult> many(200, ok(0.0));
  many.push_back(raised);
  EXPECT_TRUE(reward_findings(recipe(kPython), trial_of(many)).empty());
  // One completion costs its whole call, and alone the others are judged.
  Trial trial = trial_of({raised, raised});
  trial.alone[0] = {raised, ok(1.0)};
  EXPECT_EQ(reward_findings(recipe(kPython), trial).at(0).severity, Severity::kWarning);
}

TEST(Preflight, OutagesAndLateAnswersAreWarnings) {
  Trial late = trial_of({failed(RewardStatus::kTimeout, "late"), failed(RewardStatus::kTimeout, "late")});
  const auto findings = reward_findings(recipe(kPython), late);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_NE(findings[0].text.find("raise reward.0.timeout_s"), std::string::npos);
  Trial down = trial_of({failed(RewardStatus::kError, "connection refused")});
  down.may_recover = {1};
  const RewardConfig http{.name = "r", .type = "http", .keys = {{"url", "http://127.0.0.1:1/x"}}};
  EXPECT_EQ(reward_findings(recipe(http), down).at(0).severity, Severity::kWarning);
  // A column that its rubric names and no row has is no outage.
  Trial lacking = trial_of({failed(RewardStatus::kUnparsed, "no column `topic`")});
  lacking.may_recover = {1};
  EXPECT_EQ(reward_findings(recipe(http), lacking).at(0).severity, Severity::kError);
}

TEST(Preflight, TheRewardThatAnotherRequiresIsNamedAlone) {
  TrainConfig config = recipe(kPython);
  config.reward.push_back({.name = "second", .type = "format", .required = "r"});
  Trial trial;
  trial.alone.resize(2);
  trial.may_recover = {0, 0};
  add_group({failed(RewardStatus::kError, "raised")}, trial);
  trial.groups[0].samples[0].rewards.push_back(failed(RewardStatus::kError, "r: raised"));
  EXPECT_EQ(texts(reward_findings(config, trial), Severity::kError).size(), 1u);
}

TEST(Preflight, RowsThatEveryRewardSkipsAreAWarning) {
  const RewardResult skipped = failed(RewardStatus::kSkipped, "");
  EXPECT_EQ(reward_findings(recipe(kPython), trial_of({skipped, skipped})).size(), 1u);
  EXPECT_TRUE(reward_findings(recipe(kPython), trial_of({skipped, ok(1.0)})).empty());
}

TEST(Preflight, GroupsWithoutDifferenceAreAWarning) {
  Trial trial = trial_of({ok(0.0), ok(0.0)});
  add_group({ok(1.0), ok(1.0), failed(RewardStatus::kTimeout, "")}, trial);
  const auto found = texts(completion_findings(recipe(kPython), trial), Severity::kWarning);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(
      found[0].find("no reward differs within any of 2 trial groups (4 completions, rewards of 0 to 1)"),
      std::string::npos)
      << found[0];
  EXPECT_EQ(found[0].find("chance"), std::string::npos) << found[0];
  add_group({ok(0.0), ok(0.5)}, trial);
  EXPECT_TRUE(completion_findings(recipe(kPython), trial).empty());
  for (int i = 0; i < 8; ++i) add_group({ok(0.0), ok(0.0)}, trial);
  EXPECT_NE(completion_findings(recipe(kPython), trial).at(0).text.find("within 91 % of 11 trial groups (22"),
            std::string::npos);
  // A baseline that is no group's learns from such groups.
  TrainConfig config = recipe(kPython);
  config.objective.advantages.baseline = "none";
  EXPECT_TRUE(completion_findings(config, trial_of({ok(0.0), ok(0.0)})).empty());
  EXPECT_TRUE(compares_groups(recipe(kPython)));
  EXPECT_FALSE(compares_groups(config));
  config = recipe(kPython);
  config.rollout.num_generations = 1;
  EXPECT_FALSE(compares_groups(config));
}

TEST(Preflight, FewCompletionsWithEqualRewardsAreNoCertainty) {
  const auto text_of = [](int64_t count) {
    const Trial trial = trial_of(std::vector<RewardResult>(count, ok(0.0)));
    return completion_findings(recipe(kPython), trial).at(0).text;
  };
  // 0.91^32 = 0.05
  EXPECT_NE(text_of(32).find("rewards of 0; chance does this in one trial of 20 if 9 % of completions have"),
            std::string::npos)
      << text_of(32);
  EXPECT_EQ(text_of(64).find("chance"), std::string::npos);
}

TEST(Preflight, CompletionsThatWereAllCutAreAWarning) {
  TrainConfig config = recipe(kPython);
  Trial trial = trial_of({ok(0.0), ok(1.0)}, FinishReason::kLength);
  ASSERT_EQ(completion_findings(config, trial).size(), 1u);
  EXPECT_NE(completion_findings(config, trial)[0].text.find("raise rollout.max_completion_length = 512"),
            std::string::npos);
  // What the trial alone cut says nothing.
  trial.is_shortened = true;
  EXPECT_TRUE(completion_findings(config, trial).empty());
  trial.is_shortened = false;
  config.rollout.ignore_eos = true;
  EXPECT_TRUE(completion_findings(config, trial).empty());
  config.rollout.ignore_eos = false;
  trial.groups[0].samples[1].completion.finish_reason = FinishReason::kStop;
  EXPECT_TRUE(completion_findings(config, trial).empty());
  // Of many a share is enough that explain names, too.
  trial = trial_of(std::vector<RewardResult>(20, ok(0.0)), FinishReason::kLength);
  add_group(std::vector<RewardResult>(60, ok(1.0)), trial);
  add_group({ok(0.0), ok(1.0)}, trial);
  trial.groups[1].samples.resize(58);
  const auto found = texts(completion_findings(config, trial), Severity::kWarning);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("25 % of 80 trial completions were cut before they ended; raise"))
      << found[0];
  trial.groups[1].samples.push_back(trial.groups[1].samples.front());
  EXPECT_TRUE(completion_findings(config, trial).empty());
}

TEST(Preflight, NoAnswerInAnyCompletionIsAWarning) {
  const RewardConfig accuracy{.name = "r", .type = "accuracy"};
  Trial trial = trial_of({ok(0.0, "no answer found"), ok(0.0, "no answer: \"less\" stands behind it")});
  const auto found = texts(completion_findings(recipe(accuracy), trial), Severity::kWarning);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].starts_with("reward r found no answer in any of 2 trial completions (no answer)"))
      << found[0];
  trial.groups[0].samples[0].rewards[0].detail = "\"12\": another number";
  EXPECT_EQ(completion_findings(recipe(accuracy), trial).size(), 1u);
}

TEST(Preflight, StepsThatMoveThePolicyFarAreAWarning) {
  TrainConfig config;
  config.optimizer.learning_rate = 0.5;
  const auto of = [&](const std::vector<StepFigures>& steps) { return movement_findings(config, steps); };
  EXPECT_TRUE(of({{30, 1, 0.8}, {32, 1, 0.7}, {28, 1, 0.75}}).empty());
  EXPECT_TRUE(of({{30, 1, 0.8}}).empty());
  ASSERT_EQ(of({{30, 1, 0.8}, {64, 0, 0.8}}).size(), 1u);
  EXPECT_EQ(of({{30, 1, 0.8}, {64, 0, 0.1}})[0].text,
            "the first step moves the mean length from 30 to 64 tokens, entropy from 0.8 to 0.1 nats: lower "
            "optimizer.learning_rate = 0.5, or raise optimizer.warmup_steps");
  EXPECT_TRUE(of({{30, 6, 0.8}, {64, 6, 0.8}}).empty()) << "noise";
  EXPECT_TRUE(of({{30, 1, 0.8}, {30, 1, 0.0}}).empty()) << "not measured";
  EXPECT_TRUE(of({{30, 1, 0.8}, {30, 1, 0.8}, {30, 1, 4.0}})[0].text.starts_with("the first 2 steps move"));
}

TEST(Preflight, ATrialIsSmallAndNeverMoreThanAStep) {
  const auto size = [](int64_t prompts, int64_t generations, int64_t length) {
    RolloutConfig rollout;
    rollout.prompts_per_step = prompts;
    rollout.num_generations = generations;
    rollout.max_completion_length = length;
    const TrialSize size = trial_size(rollout);
    return str(size.num_prompts, " ", size.num_generations, " ", size.max_completion_length);
  };
  EXPECT_EQ(size(32, 8, 64), "4 8 64");
  EXPECT_EQ(size(1, 2, 16), "1 2 16");
  EXPECT_EQ(size(64, 1, 16), "32 1 16");
  EXPECT_EQ(size(8, 8, 1024), "2 8 1024");
  EXPECT_EQ(size(512, 16, 32768), "1 8 2048");
}

TEST(Preflight, AtMostFiveLinesAreWrittenAndAnErrorEndsTheRun) {
  std::vector<Finding> findings(7, {Severity::kWarning, "a doubt"});
  findings.push_back({Severity::kNote, "a note"});
  testing::internal::CaptureStderr();
  report_findings(findings);
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 5);
  EXPECT_TRUE(lines.starts_with("warning: preflight: a doubt\n"));
  EXPECT_EQ(message_of<ConfigError>([] { report_findings({{Severity::kError, "broken"}}); }), "broken");
}

}  // namespace
}  // namespace cohort
