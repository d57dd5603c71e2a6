// The abuse suite: programs that try to break out, to break the machine, or to outlive their deadline.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "cohort/rewards/typed_value.h"
#include "tests/sandbox/abuse_programs.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

[[maybe_unused]] const testing::Environment* const kNeedsNamespaces =
    testing::AddGlobalTestEnvironment(new NeedsNamespaces);

class Abuse : public SandboxTest {
 protected:
  static void SetUpTestSuite() {
    setenv("COHORT_CANARY", "a secret of the trainer", 1);
    SandboxTest::SetUpTestSuite();
  }

  // Runs a program of the suite, and holds the sandbox to what every program must be held to.
  SandboxOutcome run_case(const AbuseCase& abuse, const std::string& input = "") {
    SandboxJob job = python_job(std::string(kAbusePrelude) + abuse.program);
    job.limits.wall_ms = abuse.wall_ms;
    job.input = input;
    SandboxOutcome outcome = sandbox_->run(job);
    // A virtual processor that is taken away makes any end late; a delay of the sandbox's own comes back.
    const int64_t latest_us = (abuse.wall_ms + 250) * 1000;
    for (int i = 0; i < 2 && outcome.wall_us > latest_us; ++i) outcome = sandbox_->run(job);
    const std::string ending = "|" + brief(outcome) + "|";
    EXPECT_NE(("|" + std::string(abuse.endings) + "|").find(ending), std::string::npos)
        << abuse.number << " " << abuse.name << ": " << ending << " " << outcome.failure
        << outcome.error_tail;
    EXPECT_EQ(outcome.output.find("ESCAPED"), std::string::npos) << abuse.number << ": " << outcome.output;
    EXPECT_LE(outcome.wall_us, latest_us) << abuse.number << " " << abuse.name;
    const bool must_say_so = std::string(abuse.program).find("expect(") != std::string::npos ||
                             std::string(abuse.program).find("held") != std::string::npos;
    if (must_say_so && std::string(abuse.endings).starts_with("exit 0") && brief(outcome) == "exit 0") {
      EXPECT_NE(outcome.output.find("held"), std::string::npos) << abuse.number << ": " << outcome.error_tail;
    }
    return outcome;
  }

  void run_cases(int first, int last) {
    for (const AbuseCase& abuse : kAbuseCases) {
      if (abuse.number >= first && abuse.number <= last) run_case(abuse);
    }
    const SandboxOutcome honest = run("print('fine')");
    EXPECT_EQ(honest.output, "fine\n") << brief(honest);
  }

  static const AbuseCase& find(int number) {
    for (const AbuseCase& abuse : kAbuseCases) {
      if (abuse.number == number) return abuse;
    }
    throw std::out_of_range("no such case");
  }
};

TEST_F(Abuse, Resources1To17) { run_cases(1, 17); }

TEST_F(Abuse, Life22To30) { run_cases(22, 30); }

TEST_F(Abuse, Escapes31To50) { run_cases(31, 50); }

TEST_F(Abuse, MemoryAcrossProcesses3IsBoundedAsTheLevelSays) {
  const SandboxOutcome outcome = run_case(find(3));
  if (is_full()) {
    EXPECT_EQ(brief(outcome), "memory");
  }
}

TEST_F(Abuse, ANestedResult18IsNoValue) {
  EXPECT_FALSE(read_typed_value(run_case(find(18)).output));
  std::string closed(30000, '[');
  EXPECT_FALSE(read_typed_value(closed + std::string(30000, ']')));
}

TEST_F(Abuse, Input19To21) {
  EXPECT_EQ(run_case(find(19), std::string(10 << 20, 'x')).output, "held\n");
  EXPECT_EQ(run_case(find(20)).output, "held\n");
  EXPECT_EQ(run_case(find(21)).output, std::string("\xff\0\xfeheld", 7));
}

TEST_F(Abuse, AChildThatKeepsOutputOpen25DoesNotDelayTheEnd) {
  AbuseCase abuse = find(25);
  abuse.wall_ms = 20000;
  EXPECT_LT(run_case(abuse).wall_us, 10'000'000);
}

TEST_F(Abuse, ResultFiles45And46AreRegularOrNone) {
  for (const char* program :
       {"import os; os.symlink('/proc/self/environ', 'result')",
        "import os; os.symlink('/.cohort/box/program.py', 'result')", "import os; os.mkdir('result')",
        "import os; os.link('/.cohort/box/program.py', 'result')",
        "import os\ntry: os.mkfifo('result')\nexcept OSError: pass",
        "import os; os.mkdir('d'); open('d/f', 'w').write('x'); os.symlink('d', 'result')"}) {
    SandboxJob job = python_job(program);
    job.result_file = "result";
    EXPECT_FALSE(sandbox_->run(job).has_result) << program;
  }
  SandboxJob nested = python_job("import os; os.mkdir('d'); os.symlink('/.cohort/box', 'd/e')");
  for (const char* name : {"../box/program.py", "/.cohort/box/program.py", "d/e/program.py"}) {
    nested.result_file = name;
    EXPECT_FALSE(sandbox_->run(nested).has_result) << name;
  }
  // A race: a daemon swaps a file for a link while the program ends.
  SandboxJob race = python_job(
      "import os\n"
      "open('a', 'w').write('file')\n"
      "os.symlink('/.cohort/box/program.py', 'b')\n"
      "if os.fork() == 0:\n"
      "  os.setsid()\n"
      "  while True:\n"
      "    os.link('a', 'c'); os.rename('c', 'result'); os.symlink('/.cohort/box/program.py', 'd'); "
      "os.rename('d', "
      "'result')\n"
      "import time; time.sleep(0.05)");
  race.result_file = "result";
  for (int i = 0; i < 5; ++i) {
    const SandboxOutcome outcome = sandbox_->run(race);
    EXPECT_EQ(brief(outcome), "exit 0") << outcome.error_tail;
    if (outcome.has_result) {
      EXPECT_EQ(outcome.result, "file");
    }
  }
}

TEST_F(Abuse, NothingIsKept55) {
  run("open('/.cohort/work/state', 'w').write('1'); open('/tmp/state', 'w').write('1')");
  EXPECT_EQ(run("import os; print(os.listdir('/.cohort/work'), sorted(os.listdir('/.cohort/box')))").output,
            "[] ['program.py']\n");
}

}  // namespace
}  // namespace cohort
