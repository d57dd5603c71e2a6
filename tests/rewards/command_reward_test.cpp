// The command reward: what a program is asked, when it is started, and every way in which it can misbehave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

#include "cohort/rewards/batch_protocol.h"
#include "tests/rewards/programs.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

class CommandReward : public testing::Test {
 protected:
  ~CommandReward() override {
    reward_.reset();
    // Every program was reaped.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  void start(const std::vector<std::string>& command, double timeout_s = 20.0) {
    reward_ = make_reward(
        {.name = "mine", .type = "command", .keys = {{"command", command}, {"timeout_s", timeout_s}}});
  }

  /// Starts a program of Python, see programs.h.
  void start_python(const std::string& body, double timeout_s = 20.0) {
    program_ = std::make_unique<Program>(body);
    start(program_->command(), timeout_s);
  }

  RewardResult ask(const std::string& text = "text", Json fields = Json::object()) {
    return reward_->score(make_prompt(std::move(fields)), make_completion(text));
  }

  std::vector<RewardResult> ask_for(const std::vector<std::string>& texts) {
    const Prompt prompt = make_prompt({});
    std::vector<Completion> completions;
    for (const std::string& text : texts) completions.push_back(make_completion(text));
    std::vector<RewardRow> rows;
    for (const Completion& completion : completions) rows.push_back({prompt, completion});
    return reward_->score_batch(rows);
  }

  std::vector<std::string> notes(const std::string& name) { return program_->notes(name); }

  std::unique_ptr<Program> program_;
  std::unique_ptr<Reward> reward_;
};

TEST_F(CommandReward, SendsALineAndReadsALine) {
  start_python(R"(
def answer(request):
    note("seen", json.dumps(request))
    send(json.dumps({"id": request["id"], "rewards": [{"id": "1", "score": 0.5}, {"id": "0", "score": -2}]}) + "\n")
)");
  const std::vector<RewardResult> results = ask_for({"first", "second"});
  EXPECT_EQ(brief(results[0]), "-2 ok");
  EXPECT_EQ(brief(results[1]), "0.5 ok");
  ASSERT_EQ(notes("seen").size(), 1u);
  EXPECT_EQ(Json::parse(notes("seen")[0]), Json::parse(R"({"id": "b0", "rows": [
                {"id": "0", "prompt": "the prompt", "completion": "first", "completion_ids": [1, 2, 3]},
                {"id": "1", "prompt": "the prompt", "completion": "second", "completion_ids": [1, 2, 3]}]})"));
}

TEST_F(CommandReward, ReadsColumnsAndTextThatIsCut) {
  start_python("def score(row): return float(row['completion'].strip() == row['answer'])");
  EXPECT_EQ(brief(ask(" yes ", {{"answer", "yes"}})), "1 ok");
  EXPECT_EQ(brief(ask("no", {{"answer", "yes"}})), "0 ok");
  EXPECT_EQ(brief(ask("caf\xc3\xa9", {{"answer", "caf\xc3\xa9"}})), "1 ok");
  EXPECT_EQ(brief(ask("cut \xc3", {{"answer", "cut \xef\xbf\xbd"}})), "1 ok");
}

TEST_F(CommandReward, StartsTheProgramOnce) {
  start_python(
      "note('starts', os.getpid())\ncount = 0\ndef score(row):\n  global count\n  count += 1\n  return "
      "count");
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(ask().score, i);
  EXPECT_EQ(notes("starts").size(), 1u);
}

TEST_F(CommandReward, OneWordIsALineForTheShellAndSeveralAreAProgram) {
  const std::string answer = R"({"id":"b0","rewards":[{"id":"0","score":3}]})";
  start({"read -r line; x=3; echo '{\"id\":\"b0\",\"rewards\":[{\"id\":\"0\",\"score\":'$x'}]}'"});
  EXPECT_EQ(brief(ask()), "3 ok");
  start({"python3", "-c", "import sys; input(); print(sys.argv[1])", answer});
  EXPECT_EQ(brief(ask()), "3 ok");
  start({"sh", "-c", "read -r line; echo \"$1\"", "a $(name)", answer});
  EXPECT_EQ(brief(ask()), "3 ok");
}

TEST_F(CommandReward, LargeLinesGoBothWays) {
  // Both lines are larger than a pipe's buffer.
  start_python(R"(
def rewards(request):
    return [{"id": "0", "score": len(request["rows"][0]["completion"]), "more": "x" * 200000}]
)");
  const std::string text(1 << 18, 'x');
  for (int i = 0; i < 2; ++i) {
    const RewardResult result = ask(text);
    EXPECT_EQ(brief(result), "262144 ok") << result.detail;
  }
}

TEST_F(CommandReward, ReadsAsLongAsTheLimit) {
  start_python(R"(
def answer(request):
    line = json.dumps({"id": request["id"], "rewards": [{"id": "0", "score": 1}]})
    send(line + " " * (int(request["rows"][0]["completion"]) - len(line)) + "\n")
)");
  EXPECT_EQ(brief(ask(str(kMaxReplyBytes))), "1 ok");
  const RewardResult result = ask(str(kMaxReplyBytes + 1));
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_NE(result.detail.find("4 MiB"), std::string::npos) << result.detail;
}

TEST_F(CommandReward, TheRequestOfAProgramThatDiedIsTriedOnceMore) {
  start_python(R"(
def answer(request):
    note("seen", json.dumps(request))
    completion = request["rows"][0]["completion"]
    if completion == "always" or completion == "once" and len(open("seen").readlines()) == 1: os._exit(3)
    send(json.dumps({"id": request["id"], "rewards": [{"id": "0", "score": 4}]}) + "\n")
)");
  EXPECT_EQ(brief(ask("once")), "4 ok");
  ASSERT_EQ(notes("seen").size(), 2u);
  EXPECT_EQ(notes("seen")[0], notes("seen")[1]);
  const RewardResult result = ask("always");
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_NE(result.detail.find("rows.jsonl:5: the program ended with exit status 3"), std::string::npos)
      << result.detail;
  EXPECT_EQ(notes("seen").size(), 4u);
}

TEST_F(CommandReward, DeathIsAnErrorWithItsReason) {
  start_python("def score(row): os.kill(os.getpid(), signal.SIGSEGV)");
  EXPECT_NE(ask().detail.find("signal 11"), std::string::npos);
  start({"exec /no/such/program"});
  EXPECT_NE(ask().detail.find("exit status 127"), std::string::npos);
  start({"/no/such/program", "argument"});
  EXPECT_NE(ask().detail.find("cannot start /no/such/program"), std::string::npos);
}

TEST_F(CommandReward, AProgramThatCannotStartIsNoForkStorm) {
  program_ = std::make_unique<Program>("");
  start({"echo start >> " + (program_->path() / "starts").string() + "; exit 5"});
  for (int i = 0; i < 100; ++i) {
    const RewardResult result = ask();
    EXPECT_EQ(brief(result), "0 error");
    EXPECT_NE(result.detail.find("exit status 5"), std::string::npos) << result.detail;
    EXPECT_EQ(result.detail.find("times in a row") != std::string::npos, i > 1) << result.detail;
  }
  EXPECT_LE(notes("starts").size(), 6u);  // more where the test takes longer than the pause
}

TEST_F(CommandReward, AProgramThatDiedBetweenCallsIsReplacedWithoutHarm) {
  start_python(
      "def answer(request):\n  global answer_\n  send(json.dumps({'id': request['id'], 'rewards': "
      "[{'id': '0', 'score': 1}]}) + '\\n')\n  sys.exit()");
  EXPECT_EQ(brief(ask()), "1 ok");
  siginfo_t info;
  ASSERT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(brief(ask()), "1 ok");
}

TEST_F(CommandReward, WritingToADeadProgramDoesNotEndUs) {
  ASSERT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
  // It closes its input, but lives on: the line can't be delivered.
  start({"exec 0<&-; sleep 100"});
  const RewardResult result = ask(std::string(1 << 20, 'x'));
  EXPECT_EQ(result.status, RewardStatus::kError);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(CommandReward, AHangIsATimeoutAndKillsTheWholeGroup) {
  // What it started holds the output open, too; and nobody heeds a polite signal.
  start_python(R"(
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def answer(request):
    note("pid", subprocess.Popen(["sleep", "1000"]).pid)
    time.sleep(1000)
)",
               2.0);
  const RewardResult result = ask();
  EXPECT_EQ(brief(result), "0 timeout");
  EXPECT_EQ(result.detail,
            "rows.jsonl:5: no answer within 2 s, the program's start included; `timeout_s` is the limit");
  ASSERT_EQ(notes("pid").size(), 1u);  // and not tried again
  EXPECT_TRUE(is_gone_soon(std::stoi(notes("pid")[0])));
}

TEST_F(CommandReward, AProgramThatSignalsItsGroupEndsOnlyItself) {
  start_python(R"(
def score(row):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    return 1
)");
  EXPECT_EQ(brief(ask()), "1 ok");
  EXPECT_EQ(brief(ask()), "1 ok");
}

TEST_F(CommandReward, AChildThatKeepsTheOutputOpenHidesNoDeath) {
  start_python("def answer(request):\n  note('pid', subprocess.Popen(['sleep', '1000']).pid)\n  os._exit(9)",
               300.0);
  const RewardResult result = ask();
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_NE(result.detail.find("exit status 9"), std::string::npos) << result.detail;
  ASSERT_EQ(notes("pid").size(), 2u);
  for (const std::string& pid : notes("pid")) EXPECT_TRUE(is_gone_soon(std::stoi(pid)));
}

TEST_F(CommandReward, ALateAnswerNeverReachesTheNextCompletion) {
  start_python("def score(row):\n  if row['completion'] == 'slow': time.sleep(6)\n  return 7", 3.0);
  EXPECT_EQ(brief(ask("quick")), "7 ok");
  EXPECT_EQ(brief(ask("slow")), "0 timeout");
  EXPECT_EQ(brief(ask("quick")), "7 ok");
}

TEST_F(CommandReward, ATimeoutAlsoEndsAProgramThatNeverReads) {
  start({"exec sleep 1000"}, 0.3);
  EXPECT_EQ(brief(ask(std::string(1 << 20, 'x'))), "0 timeout");
}

TEST_F(CommandReward, ATrickleIsLateToo) {
  start_python("def answer(request):\n  while True:\n    send('1')\n    time.sleep(0.001)", 1.0);
  EXPECT_EQ(brief(ask()), "0 timeout");
}

TEST_F(CommandReward, MoreThanOneLineIsAnError) {
  start_python(
      "def answer(request):\n  line = json.dumps({'id': request['id'], 'rewards': "
      "[{'id': '0', 'score': 1}]}) + '\\n'\n  send(line + line)");
  const RewardResult result = ask();
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_NE(result.detail.find("more than one line"), std::string::npos) << result.detail;
}

TEST_F(CommandReward, ALineThatComesLaterIsFoundBeforeTheNextRequest) {
  start_python(R"(
note("starts", os.getpid())
def answer(request):
    send(json.dumps({"id": request["id"], "rewards": [{"id": "0", "score": 1}]}) + "\n")
    while not os.path.exists("go"): time.sleep(0.01)
    send(json.dumps({"id": "b1", "rewards": [{"id": "0", "score": 99}]}) + "\n")
    note("sent", "")
)");
  EXPECT_EQ(brief(ask()), "1 ok");
  write_text(program_->path() / "go", "");
  while (notes("sent").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::filesystem::remove(program_->path() / "go");
  EXPECT_EQ(brief(ask()), "1 ok");
  EXPECT_EQ(notes("starts").size(), 2u);
}

TEST_F(CommandReward, AnAnswerBeforeTheRequestIsReadIsAnError) {
  const std::string answer = R"(print('{"id":"b0","rewards":[{"id":"0","score":1}]}', flush=True))";
  start({"python3", "-c", answer + "; import time; time.sleep(1000)"});
  for (const std::string& text : {std::string("short"), std::string(1 << 20, 'x')}) {
    const RewardResult result = ask(text);
    EXPECT_EQ(brief(result), "0 error");
    EXPECT_NE(result.detail.find("before it had read"), std::string::npos) << result.detail;
    start({"python3", "-c", answer + "; import time; time.sleep(1000)"});
  }
}

TEST_F(CommandReward, AFloodIsAnErrorAndNotHeld) {
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  start_python("def answer(request):\n  for i in range(1000): send('x' * 1000000)");
  const RewardResult result = ask();
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_NE(result.detail.find("longer than 4 MiB"), std::string::npos) << result.detail;
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST_F(CommandReward, AReplyThatIsNoneIsReplacedAndARowsFailureIsNot) {
  start_python(R"(
note("starts", os.getpid())
def answer(request):
    completion = request["rows"][0]["completion"]
    if completion == "noise": return send("noise\n")
    score = "text" if completion == "text" else 1
    send(json.dumps({"id": request["id"], "rewards": [{"id": "0", "score": score}]}) + "\n")
)");
  EXPECT_EQ(brief(ask("right")), "1 ok");
  EXPECT_EQ(brief(ask("text")), "0 error");
  EXPECT_EQ(brief(ask("right")), "1 ok");
  EXPECT_EQ(notes("starts").size(), 1u);
  EXPECT_EQ(brief(ask("noise")), "0 error");
  EXPECT_EQ(brief(ask("right")), "1 ok");
  EXPECT_EQ(notes("starts").size(), 2u);
}

TEST_F(CommandReward, EndOfInputLetsTheProgramFinish) {
  start_python("def score(row): return 1\nimport atexit\natexit.register(note, 'end', '')");
  ask();
  reward_.reset();
  EXPECT_EQ(notes("end").size(), 1u);
}

TEST_F(CommandReward, InheritsNoFilesOfOurs) {
  // Two programs at a time: the second must not hold the first one's input open, or the first would never see
  // its end.
  start_python("def score(row): return 1\nimport atexit\natexit.register(note, 'end', '')");
  ask();
  const std::unique_ptr<Program> program = std::move(program_);
  std::unique_ptr<Reward> first = std::move(reward_);
  start_python("def score(row): return 2");
  ask();
  first.reset();
  EXPECT_EQ(program->notes("end").size(), 1u);
}

// The end of its output is seen before its own.
TEST_F(CommandReward, AProgramThatEndsSlowlyTellsItsStatus) {
  start_python("def answer(request):\n  os.close(1)\n  time.sleep(0.05)\n  os._exit(7)");
  const RewardResult result = ask();
  EXPECT_NE(result.detail.find("exit status 7"), std::string::npos) << result.detail;
}

}  // namespace
}  // namespace cohort
