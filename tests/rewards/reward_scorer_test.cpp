// The scorer: results land in their cells whatever the order, failures stay statuses, and sums follow the
// rule.
#include "cohort/rewards/reward_scorer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tests/core/test_files.h"
#include "tests/rewards/programs.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

// Half a point, unless the completion says otherwise.
const char* kHalf = R"(
def score(row):
    return "text" if "fail" in row["completion"] else None if "skip" in row["completion"] else 0.5
)";

TEST(RewardScorer, FillsTheCellsByGroupAndSample) {
  RewardScorer scorer({{.name = "countdown"}, {.name = "shape", .type = "format", .weight = 0.5}});
  EXPECT_EQ(scorer.names(), (std::vector<std::string>{"countdown", "shape"}));
  EXPECT_EQ(scorer.weights(), (std::vector<double>{1.0, 0.5}));
  Prompt three = make_prompt({{"numbers", {1, 2}}, {"target", 3}});
  Prompt six = make_prompt({{"numbers", {2, 3}}, {"target", 6}});
  scorer.submit(8, 1, six, make_completion("<answer>2 * 3</answer>"));
  scorer.submit(4, 2, three, make_completion("<think></think><answer>2 + 1</answer>"));
  scorer.submit(4, 0, three, make_completion("<answer>1 + 2</answer>"));
  scorer.submit(8, 0, six, make_completion("<think></think><answer>2 + 3</answer>"));
  scorer.submit(4, 1, three, make_completion("nothing"));
  const auto first = scorer.take(4);
  ASSERT_EQ(first.size(), 3u);
  for (const std::vector<RewardResult>& cells : first) ASSERT_EQ(cells.size(), 2u);
  const char* expected[3][2] = {{"1 ok", "0 ok"}, {"0 ok", "0 ok"}, {"1 ok", "1 ok"}};
  for (int i = 0; i < 3; ++i) {
    for (int c = 0; c < 2; ++c) EXPECT_EQ(brief(first[i][c]), expected[i][c]) << i << " " << c;
  }
  const auto second = scorer.take(8);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(brief(second[0][0]), "0 ok");
  EXPECT_EQ(brief(second[1][0]), "1 ok");
}

TEST(RewardScorer, TheSamplesOfAGroupTakeTheirRewards) {
  RewardScorer scorer({{.name = "right", .type = "regex", .keys = {{"pattern", "yes"}}}, {.name = "format"}});
  Group group;
  group.prompt = make_prompt({});
  for (const char* text : {"no", "yes", "<think></think><answer>yes</answer>"}) {
    group.samples.emplace_back();
    group.samples.back().completion = make_completion(text);
  }
  for (const int64_t i : {2, 0, 1}) scorer.submit(5, i, group.prompt, group.samples[i].completion);
  std::vector<RewardCall> calls;
  take_rewards(scorer, 5, group, &calls);
  EXPECT_EQ(calls.size(), 6u);
  const char* expected[3][2] = {{"0 ok", "0 ok"}, {"1 ok", "0 ok"}, {"1 ok", "1 ok"}};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(group.samples[i].rewards.size(), 2u);
    for (int c = 0; c < 2; ++c)
      EXPECT_EQ(brief(group.samples[i].rewards[c]), expected[i][c]) << i << " " << c;
    EXPECT_FALSE(group.samples[i].has_reward());  // the sum is the batch's work
  }
  // A group of another size than the one that was submitted is a mistake.
  scorer.submit(6, 0, group.prompt, group.samples[0].completion);
  EXPECT_THROW(take_rewards(scorer, 6, group), InternalError);
}

TEST(RewardScorer, AProgramThatFailsOnSomeRowsSpoilsOnlyThem) {
  const Program program(kHalf);
  RewardScorer scorer(
      {{.name = "mine", .type = "command", .keys = {{"command", program.command()}}}, {.name = "format"}});
  for (int64_t sample = 0; sample < 9; ++sample) {
    const char* text = sample % 3 == 0 ? "good" : sample % 3 == 1 ? "fail" : "skip";
    scorer.submit(0, sample, make_prompt({}), make_completion(text));
  }
  const auto rewards = scorer.take(0);
  for (int64_t sample = 0; sample < 9; ++sample) {
    const char* expected = sample % 3 == 0 ? "0.5 ok" : sample % 3 == 1 ? "0 error" : "0 skipped";
    EXPECT_EQ(brief(rewards[sample][0]), expected) << sample;
  }
}

TEST(RewardScorer, ScoresAreClippedAndGated) {
  RewardScorer scorer({{.name = "right", .type = "regex", .required = "format", .keys = {{"pattern", "yes"}}},
                       {.name = "format"},
                       {.name = "tags", .type = "tag_count", .clip_min = 0.25, .clip_max = 0.75}});
  const char* texts[] = {"<think></think><answer>yes</answer>", "yes", "<think></think><answer>no</answer>"};
  for (int64_t i = 0; i < 3; ++i) scorer.submit(0, i, make_prompt({}), make_completion(texts[i]));
  const auto rewards = scorer.take(0);
  EXPECT_EQ(brief(rewards[0][0]), "1 ok");
  EXPECT_EQ(brief(rewards[1][0]), "0 ok");
  EXPECT_EQ(rewards[1][0].detail, "counts only with format");
  EXPECT_EQ(brief(rewards[2][0]), "0 ok");
  EXPECT_EQ(brief(rewards[0][2]), "0.75 ok");
  EXPECT_EQ(brief(rewards[1][2]), "0.25 ok");
}

TEST(RewardScorer, AGateThatFailedFailsWhatItGates) {
  const Program program(kHalf);
  RewardScorer scorer({{.name = "right", .type = "regex", .required = "mine", .keys = {{"pattern", "fail"}}},
                       {.name = "mine", .type = "command", .keys = {{"command", program.command()}}}});
  for (const char* text : {"fail", "skip fail", "good"}) {
    static int64_t sample = 0;
    scorer.submit(0, sample++, make_prompt({}), make_completion(text));
  }
  const auto rewards = scorer.take(0);
  EXPECT_EQ(brief(rewards[0][0]), "0 error");
  EXPECT_EQ(brief(rewards[2][0]), "0 ok");  // mine answers 0.5
}

TEST(RewardScorer, ProgramsBeginAnewAfterAReset) {
  const Program program(
      "count = 0\ndef rewards(request):\n  global count\n  count += 1\n  note('seen', request['id'])\n"
      "  return [{'id': row['id'], 'score': count} for row in request['rows']]");
  RewardScorer scorer({{.name = "mine", .type = "command", .keys = {{"command", program.command()}}}});
  const auto score = [&] { return brief(scorer.score_alone(0, make_prompt({}), make_completion("a"))); };
  EXPECT_EQ(score(), "1 ok");
  EXPECT_EQ(score(), "2 ok");
  scorer.restart();
  EXPECT_EQ(score(), "1 ok");
  EXPECT_EQ(program.notes("seen"), (std::vector<std::string>{"b0", "b1", "b0"}));
  RewardScorer of_math({{.name = "format", .domains = std::vector<std::string>{"math"}}});
  EXPECT_EQ(brief(of_math.score_alone(0, make_prompt({{"domain", "code"}}), make_completion("a"))),
            "0 skipped");
}

TEST(RewardScorer, RewardsOfADomainSkipOtherRows) {
  RewardScorer scorer({{.name = "format", .domains = {"math", "code"}}});
  scorer.submit(0, 0, make_prompt({{"domain", "code"}}), make_completion(""));
  scorer.submit(0, 1, make_prompt({{"domain", "chat"}}), make_completion(""));
  scorer.submit(0, 2, make_prompt({}), make_completion(""));
  const auto rewards = scorer.take(0);
  EXPECT_EQ(brief(rewards[0][0]), "0 ok");
  EXPECT_EQ(brief(rewards[1][0]), "0 skipped");
  EXPECT_EQ(brief(rewards[2][0]), "0 skipped");
}

TEST(RewardScorer, RefusesGatesThatAreNotThere) {
  const std::vector<RewardConfig> refused = {{.name = "format", .required = "accuracy"},
                                             {.name = "format", .required = "format"},
                                             {.name = "format", .clip_min = 1.0, .clip_max = 0.0}};
  for (const RewardConfig& config : refused) {
    EXPECT_THROW(RewardScorer(std::vector<RewardConfig>{config}), ConfigError);
  }
}

/// Judges two steps, -1 and 3.
class SteppedReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion& completion) override {
    const double first = completion.text == "broken" ? NAN : -1.0;
    return {0.25, RewardStatus::kOk, "", {{1, first}, {2, 3.0}}};
  }
  bool gives_steps() const override { return true; }
  int64_t memory_bytes() const override { return 100; }
};

RewardTypes with_stepped() {
  RewardTypes types = builtin_rewards();
  types.push_back({"stepped", "", {[](const RewardConfig&) { return std::make_unique<SteppedReward>(); }}});
  return types;
}

TEST(RewardScorer, TakesTypesOfTheLayerAbove) {
  EXPECT_THROW(RewardScorer({{.name = "stepped"}}), ConfigError);
  RewardScorer scorer({{.name = "stepped"}, {.name = "format"}, {.name = "two", .type = "stepped"}},
                      with_stepped());
  EXPECT_EQ(scorer.gives_steps(), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(scorer.memory_bytes(), 200);
  const std::string message =
      message_of<ConfigError>([] { RewardScorer({{.name = "steped"}}, with_stepped()); });
  EXPECT_NE(message.find("\"stepped\""), std::string::npos) << message;
}

TEST(RewardScorer, StepsAreClippedAndGated) {
  RewardScorer scorer({{.name = "clipped", .type = "stepped", .clip_min = 0.0, .clip_max = 2.0},
                       {.name = "gated", .type = "stepped", .required = "format"},
                       {.name = "format"}},
                      with_stepped());
  scorer.submit(0, 0, make_prompt({}), make_completion(""));
  scorer.submit(0, 1, make_prompt({}), make_completion("broken"));
  const auto rewards = scorer.take(0);
  EXPECT_EQ(rewards[0][0].steps.at(0).score, 0.0);
  EXPECT_EQ(rewards[0][0].steps.at(1).score, 2.0);
  EXPECT_EQ(brief(rewards[0][1]), "0 ok");
  EXPECT_EQ(rewards[0][1].steps.at(0).score, 0.0);
  EXPECT_EQ(rewards[0][1].steps.at(1).end, 2);
  EXPECT_EQ(brief(rewards[1][0]), "0 error");  // a step that is no number
  EXPECT_TRUE(rewards[1][0].steps.empty());
}

TEST(RewardScorer, ManyGroupsFromManyThreads) {
  RewardScorer scorer({{.name = "format"}, {.name = "again", .type = "format"}});
  std::vector<std::thread> threads;
  for (int64_t group = 0; group < 4; ++group) {
    threads.emplace_back([&scorer, group] {
      for (int64_t round = 0; round < 20; ++round) {
        for (int64_t sample = 0; sample < 8; ++sample) {
          const char* text = sample == round % 8 ? "<think></think><answer></answer>" : "";
          scorer.submit(group, sample, make_prompt({}), make_completion(text));
        }
        const auto rewards = scorer.take(group);
        for (int64_t sample = 0; sample < 8; ++sample) {
          EXPECT_EQ(rewards[sample][0].score, sample == round % 8 ? 1.0 : 0.0);
          EXPECT_EQ(rewards[sample][1].score, sample == round % 8 ? 1.0 : 0.0);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RewardScorer, BatchesOfSeveralWorkersLandAtTheirCompletions) {
  const Program program(R"(
import random
def rewards(request):
    note("sizes", len(request["rows"]))
    time.sleep(random.random() * 0.01)
    list = [{"id": row["id"], "score": int(row["completion"]) + row["shift"]} for row in request["rows"]]
    random.shuffle(list)
    return list
)");
  RewardScorer scorer({{.name = "format"},
                       {.name = "mine",
                        .type = "command",
                        .keys = {{"command", program.command()}, {"workers", 3}, {"batch_size", 5}}}});
  constexpr int64_t kNumGroups = 12, kGroupSize = 9;
  for (int64_t sample = kGroupSize - 1; sample >= 0; --sample) {
    for (int64_t group = 0; group < kNumGroups; ++group)
      scorer.submit(group, sample, make_prompt({{"shift", 1000 * group}}), make_completion(str(sample)));
  }
  for (int64_t group = kNumGroups - 1; group >= 0; --group) {
    const auto rewards = scorer.take(group);
    for (int64_t sample = 0; sample < kGroupSize; ++sample)
      EXPECT_EQ(brief(rewards[sample][1]), str(1000 * group + sample, " ok"));
  }
  int64_t num_rows = 0, largest = 0;
  for (const std::string& size : program.notes("sizes")) {
    num_rows += std::stoi(size);
    largest = std::max<int64_t>(largest, std::stoi(size));
  }
  EXPECT_EQ(num_rows, kNumGroups * kGroupSize);
  EXPECT_EQ(largest, 5);
}

TEST(RewardScorer, AWorkerTakesWhatWaitsAndLeavesTheOthersTheirShare) {
  // The first request waits until all rows are there.
  const char* body = R"(
def rewards(request):
    note("sizes", len(request["rows"]))
    while not os.path.exists("go"): time.sleep(0.01)
    return [{"id": row["id"], "score": 1} for row in request["rows"]]
)";
  for (const int64_t workers : {1, 2}) {
    const Program program(body);
    RewardScorer scorer(
        {{.name = "mine",
          .type = "command",
          .keys = {{"command", program.command()}, {"workers", workers}, {"batch_size", 4}}}});
    for (int64_t sample = 0; sample < 10 + workers; ++sample) {
      scorer.submit(0, sample, make_prompt({}), make_completion(""));
      // One row for each worker, then ten that must wait.
      while (sample < workers && std::ssize(program.notes("sizes")) <= sample)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    write_text(program.path() / "go", "");
    scorer.take(0);
    std::vector<std::string> sizes = program.notes("sizes");
    std::sort(sizes.begin(), sizes.end());
    // After the first ones: one worker takes 4 of 10, 4 of 6, 2 of 2; two take 4 of 10, 3 of 6, 2 of 3, 1
    // of 1.
    EXPECT_EQ(sizes, workers == 1 ? (std::vector<std::string>{"1", "2", "4", "4"})
                                  : (std::vector<std::string>{"1", "1", "1", "2", "3", "4"}));
  }
}

TEST(RewardScorer, WorkersRunAtTheSameTime) {
  const Program program(R"(
def score(row):
    note("running", os.getpid())
    while len(open("running").readlines()) < 3: time.sleep(0.01)
    return 1
)");
  RewardScorer scorer(
      {{.name = "mine",
        .type = "command",
        .keys = {{"command", program.command()}, {"timeout_s", 60.0}, {"workers", 3}, {"batch_size", 1}}}});
  for (int64_t sample = 0; sample < 3; ++sample)
    scorer.submit(0, sample, make_prompt({}), make_completion(""));
  const auto rewards = scorer.take(0);
  for (int64_t sample = 0; sample < 3; ++sample) EXPECT_EQ(brief(rewards[sample][0]), "1 ok");
  std::vector<std::string> pids = program.notes("running");
  std::sort(pids.begin(), pids.end());
  EXPECT_EQ(std::unique(pids.begin(), pids.end()) - pids.begin(), 3);
}

/// Scores a completion by its place among those of the call; throws while it is told to.
class CallersReward : public Reward {
 public:
  explicit CallersReward(std::vector<std::vector<std::string>>& calls) : calls_(calls) {}

  RewardResult score(const Prompt&, const Completion&) override { return {}; }
  int64_t num_workers() const override { return 0; }
  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    caller = std::this_thread::get_id();
    if (throws) throw std::range_error("of the user");
    std::vector<RewardResult> results;
    calls_.emplace_back();
    for (const RewardRow& row : rows) {
      calls_.back().push_back(row.completion.text);
      results.push_back({static_cast<double>(results.size()), RewardStatus::kOk, ""});
    }
    return results;
  }

  static inline bool throws = false;
  static inline std::thread::id caller;

 private:
  std::vector<std::vector<std::string>>& calls_;
};

class CallersRewardTest : public testing::Test {
 protected:
  CallersRewardTest() {
    CallersReward::throws = false;
    types_.push_back(
        {"callers", "", {[this](const RewardConfig&) { return std::make_unique<CallersReward>(calls_); }}});
    scorer_.emplace(std::vector<RewardConfig>{{.name = "format"}, {.name = "callers"}}, types_);
  }

  void submit_two_groups() {
    for (const auto& [group, sample] : {std::pair{1, 0}, {0, 1}, {0, 0}})
      scorer_->submit(group, sample, make_prompt({}), make_completion(str(group, ".", sample)));
  }

  std::vector<std::vector<std::string>> calls_;
  RewardTypes types_ = builtin_rewards();
  std::optional<RewardScorer> scorer_;
};

TEST_F(CallersRewardTest, ScoresAllThatWasSubmittedInOneCallOfTheThreadThatTakes) {
  submit_two_groups();
  EXPECT_EQ(scorer_->take(0)[1][1].score, 1.0);
  EXPECT_EQ(scorer_->take(1)[0][1].score, 2.0);
  EXPECT_EQ(calls_, (std::vector<std::vector<std::string>>{{"0.0", "0.1", "1.0"}}));
  EXPECT_EQ(CallersReward::caller, std::this_thread::get_id());
}

TEST_F(CallersRewardTest, ItsExceptionReachesTheCallerAndNothingIsLeft) {
  CallersReward::throws = true;
  submit_two_groups();
  EXPECT_THROW(scorer_->take(0), std::range_error);
  CallersReward::throws = false;
  submit_two_groups();
  EXPECT_EQ(scorer_->take(0).size(), 2u);
  EXPECT_EQ(scorer_->take(1)[0][1].score, 2.0);
}

TEST(RewardScorer, DropsWhatIsUnderWay) {
  RewardScorer scorer(
      {{.name = "mine", .type = "command", .keys = {{"command", "sleep 100"}, {"timeout_s", 0.2}}}});
  for (int64_t sample = 0; sample < 100; ++sample)
    scorer.submit(0, sample, make_prompt({}), make_completion(""));
  // Leaving the scope waits for one call, not for a hundred; the test's time limit would tell.
}

// Each thread needs room for its stack.
TEST(RewardScorer, MoreWorkersThanTheMachineAllowsAreRefused) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer itself needs the address space";
#endif
  const auto construct = [] {
    const rlimit room{size_t{2} << 30, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &room);
    const std::string message = message_of<ConfigError>([] {
      RewardScorer({{.name = "mine", .type = "command", .keys = {{"command", "true"}, {"workers", 100000}}}});
    });
    _exit(message.find("`workers`") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(construct(), testing::ExitedWithCode(0), "");
}

TEST(RewardScorer, RefusesBadRecipesAndMisuse) {
  EXPECT_THROW(RewardScorer({}), ConfigError);
  EXPECT_THROW(RewardScorer({{.name = "format"}, {.name = "format"}}), ConfigError);
  EXPECT_THROW(RewardScorer({{.type = "format"}}), ConfigError);
  EXPECT_THROW(RewardScorer({{.name = "formt"}}), ConfigError);
  RewardScorer scorer({{.name = "format"}});
  EXPECT_THROW(scorer.take(0), InternalError);
  scorer.submit(0, 0, make_prompt({}), make_completion(""));
  EXPECT_THROW(scorer.submit(0, 0, make_prompt({}), make_completion("")), InternalError);
  scorer.submit(1, 1, make_prompt({}), make_completion(""));
  EXPECT_THROW(scorer.take(1), InternalError);
}

}  // namespace
}  // namespace cohort
