// The command reward: its protocol, and every way in which a program can misbehave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

using std::filesystem::path;

class CommandReward : public testing::Test {
 protected:
  ~CommandReward() override {
    reward_.reset();
    // Every program was reaped.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  void start(const std::string& command, double timeout_s = 20.0) {
    reward_ = make_reward({.name = "mine", .type = "command", .command = command, .timeout_s = timeout_s});
  }

  RewardResult ask(const std::string& text = "text", Json fields = Json::object()) {
    return reward_->score(make_prompt(std::move(fields)), make_completion(text));
  }

  // The lines that a program appended to `name`.
  std::vector<std::string> lines(const std::string& name) {
    std::ifstream file(folder_ / name);
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);) result.push_back(line);
    return result;
  }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryDirectory directory_;
  const path folder_ = directory_.path();
  std::unique_ptr<Reward> reward_;
};

TEST_F(CommandReward, SendsOneJsonLineAndReadsANumber) {
  start("while read -r line; do printf '%s\\n' \"$line\" >> " + in_folder("seen") + "; echo 0.25; done");
  Completion completion = make_completion("two\nlines \"quoted\"");
  Prompt prompt =
      make_prompt({{"answer", 4}, {"prompt_kind", {"a", 1.5}}, {"completion", "the column loses"}});
  EXPECT_EQ(brief(reward_->score(prompt, completion)), "0.25 ok");
  std::vector<std::string> seen = lines("seen");
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(
      seen[0],
      R"({"prompt":"the prompt","completion":"two\nlines \"quoted\"","completion_ids":[1,2,3],"answer":4,)"
      R"("prompt_kind":["a",1.5]})");
}

TEST_F(CommandReward, StartsTheProgramOnce) {
  start("echo start >> " + in_folder("starts") + "; n=0; while read -r line; do n=$((n+1)); echo $n; done");
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(ask().score, i);
  EXPECT_EQ(lines("starts").size(), 1u);
}

TEST_F(CommandReward, ReadsObjects) {
  start("while read -r line; do echo '{\"reward\": -2, \"detail\": \"bad style\", \"more\": [1]}'; done");
  RewardResult result = ask();
  EXPECT_EQ(brief(result), "-2 ok");
  EXPECT_EQ(result.detail, "bad style");
}

TEST_F(CommandReward, NullSkips) {
  start(
      "read -r a; echo null; read -r b; echo '{\"reward\": null, \"detail\": \"no tests\"}'; read -r c; echo "
      "1");
  EXPECT_EQ(brief(ask()), "0 skipped");
  EXPECT_EQ(brief(ask()), "0 skipped");
  EXPECT_EQ(brief(ask()), "1 ok");
}

TEST_F(CommandReward, PythonProgram) {
  std::ofstream(folder_ / "reward.py") << "import json, sys\n"
                                          "for line in sys.stdin:\n"
                                          "    row = json.loads(line)\n"
                                          "    score = float(row['completion'].strip() == row['answer'])\n"
                                          "    print(json.dumps({'reward': score}), flush=True)\n";
  start("python3 " + in_folder("reward.py"));
  EXPECT_EQ(brief(ask(" yes ", {{"answer", "yes"}})), "1 ok");
  EXPECT_EQ(brief(ask("no", {{"answer", "yes"}})), "0 ok");
  EXPECT_EQ(brief(ask("caf\xc3\xa9", {{"answer", "caf\xc3\xa9"}})), "1 ok");
  EXPECT_EQ(brief(ask("cut \xc3", {{"answer", "cut \xef\xbf\xbd"}})), "1 ok");
}

TEST_F(CommandReward, LargeLinesGoBothWays) {
  // Both lines are larger than a pipe's buffer.
  start("while read -r line; do printf '{\"reward\": %d, \"detail\": \"%0200000d\"}\\n' ${#line} 0; done");
  std::string text(1 << 18, 'x');
  for (int i = 0; i < 2; ++i) {
    RewardResult result = ask(text);
    EXPECT_EQ(result.status, RewardStatus::kOk) << result.detail;
    EXPECT_GT(result.score, text.size());
    EXPECT_EQ(result.detail.size(), 200000u);
  }
}

TEST_F(CommandReward, WhatIsNoFiniteNumberIsAnErrorThatNamesTheRow) {
  for (const char* answer :
       {"NaN", "nan", "Infinity", "1e999", "true", "\"1\"", "[1]", "{}", "{\"score\": 1}", "hello", "", "1 2",
        "{\"reward\": \"1\"}", "{\"reward\": NaN}", "{\"reward\": true}", "\\377\\376"}) {
    start("while read -r line; do printf '" + std::string(answer) + "\\n'; done");
    RewardResult result = ask();
    EXPECT_EQ(brief(result), "0 error") << answer;
    EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
    EXPECT_NO_THROW(Json(result.detail).dump()) << answer;
  }
}

TEST_F(CommandReward, StartsAnewAfterAnError) {
  start("echo start >> " + in_folder("starts") + "; read -r line; echo oops; read -r line; echo 1");
  EXPECT_EQ(brief(ask()), "0 error");
  EXPECT_EQ(brief(ask()), "0 error");
  EXPECT_EQ(lines("starts").size(), 2u);
}

TEST_F(CommandReward, DeathIsAnErrorWithItsStatus) {
  start("read -r line; exit 3");
  EXPECT_NE(ask().detail.find("exit status 3"), std::string::npos);
  start("read -r line; kill -SEGV $$");
  EXPECT_NE(ask().detail.find("signal 11"), std::string::npos);
  start("exec /no/such/program");
  RewardResult result = ask();
  EXPECT_EQ(result.status, RewardStatus::kError);
  start("python3 -c 'raise SystemExit(7)'");
  EXPECT_EQ(ask().status, RewardStatus::kError);
}

TEST_F(CommandReward, AProgramThatDiedBetweenCallsIsReplacedWithoutHarm) {
  start("read -r line; echo 1");
  EXPECT_EQ(brief(ask()), "1 ok");
  siginfo_t info;
  ASSERT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(brief(ask()), "1 ok");
}

TEST_F(CommandReward, WritingToADeadProgramDoesNotEndUs) {
  ASSERT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
  // It closes its input, but lives on: the line can't be delivered.
  start("exec 0<&-; sleep 100");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  RewardResult result = ask(std::string(1 << 20, 'x'));
  EXPECT_EQ(result.status, RewardStatus::kError);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(CommandReward, HangIsATimeoutAndKillsTheWholeGroup) {
  // The grandchild holds the output open, too.
  start("sleep 1000 & echo $! > " + in_folder("pid") + "; read -r line; sleep 1000", 1.0);
  RewardResult result = ask();
  EXPECT_EQ(brief(result), "0 timeout");
  EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
  ASSERT_EQ(lines("pid").size(), 1u);
  pid_t grandchild = std::stoi(lines("pid")[0]);
  // It is init's to reap; until then it is a zombie, which signal 0 still finds.
  bool is_gone = false;
  for (int i = 0; i < 500 && !is_gone; ++i) {
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    std::string id, name, state;
    is_gone = !(stat >> id >> name >> state) || state == "Z" || state == "X";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_gone);
}

TEST_F(CommandReward, ALateAnswerNeverReachesTheNextCompletion) {
  start("read -r line; case $line in *slow*) sleep 3;; esac; echo 7; while read -r line; do echo 8; done",
        1.5);
  EXPECT_EQ(brief(ask("slow")), "0 timeout");
  EXPECT_EQ(brief(ask("quick")), "7 ok");
  EXPECT_EQ(brief(ask("quick")), "8 ok");
}

TEST_F(CommandReward, ATimeoutAlsoEndsAProgramThatNeverReads) {
  start("exec sleep 1000", 0.3);
  EXPECT_EQ(brief(ask(std::string(1 << 20, 'x'))), "0 timeout");
}

TEST_F(CommandReward, MoreThanOneLineIsAnError) {
  start("while read -r line; do printf '1\\n2\\n'; done");
  EXPECT_EQ(brief(ask()), "0 error");
  // A second line that comes later is found before the next completion is sent.
  const std::string go = in_folder("go"), sent = in_folder("sent");
  start("read -r line; if [ -e " + go + " ]; then echo 1; else echo 1; while [ ! -e " + go +
        " ]; do sleep 0.01; done; echo 2; touch " + sent + "; fi; read -r line");
  EXPECT_EQ(brief(ask()), "1 ok");
  std::ofstream(go).close();
  for (int i = 0; i < 2000 && !std::filesystem::exists(sent); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(brief(ask()), "1 ok");
}

TEST_F(CommandReward, OversizeOutputIsAnError) {
  for (const char* flood : {"yes x | tr -d '\\n'", "head -c 3000000 /dev/zero | tr '\\0' '['"}) {
    start("read -r line; " + std::string(flood) + "; echo; sleep 100");
    RewardResult result = ask();
    EXPECT_EQ(brief(result), "0 error");
    EXPECT_NE(result.detail.find("1 MiB"), std::string::npos) << result.detail;
  }
}

TEST_F(CommandReward, DeeplyNestedOutputIsAnError) {
  start(
      "read -r line; head -c 500000 /dev/zero | tr '\\0' '['; head -c 500000 /dev/zero | tr '\\0' ']'; echo");
  EXPECT_EQ(brief(ask()), "0 error");
}

TEST_F(CommandReward, EndOfInputLetsTheProgramFinish) {
  start("while read -r line; do echo 1; done; echo finished >> " + in_folder("end"));
  ask();
  reward_.reset();
  EXPECT_EQ(lines("end").size(), 1u);
}

TEST_F(CommandReward, InheritsNoFilesOfOurs) {
  // Two programs at a time: the second must not hold the first one's input open, or the first would never see
  // its end.
  start("while read -r line; do echo 1; done; echo finished >> " + in_folder("end"));
  ask();
  std::unique_ptr<Reward> first = std::move(reward_);
  start("while read -r line; do echo 2; done");
  ask();
  first.reset();
  EXPECT_EQ(lines("end").size(), 1u);
}

}  // namespace
}  // namespace cohort
