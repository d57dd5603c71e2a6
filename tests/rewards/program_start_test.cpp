// How the programs of rewards are started: by what name, and with what of ours.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "cohort/rewards/spawn.h"
#include "tests/rewards/programs.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

class ProgramStart : public testing::Test {
 protected:
  void start(const std::vector<std::string>& command) {
    reward_ =
        make_reward({.name = "mine", .type = "command", .keys = {{"command", command}, {"timeout_s", 60.0}}});
  }

  /// Starts a program of Python, see programs.h.
  void start_python(const std::string& body) {
    program_ = std::make_unique<Program>(body);
    start(program_->command());
  }

  RewardResult ask(const std::string& text = "text") {
    return reward_->score(make_prompt({}), make_completion(text));
  }

  std::unique_ptr<Program> program_;
  std::unique_ptr<Reward> reward_;
};

TEST_F(ProgramStart, InheritsNoFileThatALibraryLeftOpen) {
  const OpenFile open_file(open("/dev/null", O_RDONLY));  // without O_CLOEXEC, as some do
  start_python("def score(row): return float(os.path.exists('/proc/self/fd/' + row['completion']))");
  EXPECT_EQ(brief(ask(str(open_file.number()))), "0 ok");
  EXPECT_EQ(brief(ask("2")), "1 ok");
}

// A program that inherits SIGCHLD ignored gets 0 for the exit status of each program of its own.
TEST_F(ProgramStart, SignalsAreAsByDefaultThere) {
  for (const int number : {SIGCHLD, SIGUSR1}) ASSERT_NE(signal(number, SIG_IGN), SIG_ERR);
  start_python(R"(
def score(row):
    if row["completion"] == "ignored": return float(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN)
    return subprocess.run(["false"]).returncode
)");
  EXPECT_EQ(brief(ask("status")), "1 ok");
  EXPECT_EQ(brief(ask("ignored")), "0 ok");
  for (const int number : {SIGCHLD, SIGUSR1}) signal(number, SIG_DFL);
}

TEST_F(ProgramStart, TheNameOfAProgramMayHoldBlanks) {
  const TemporaryDirectory folder;
  const std::filesystem::path program = folder.path() / "a folder" / "$(name) 'x'";
  std::filesystem::create_directory(program.parent_path());
  const std::string answer = R"(read -r line; echo '{"id":"b0","rewards":[{"id":"0","score":3}]}')";
  for (const char* begin : {"#!/bin/sh\n", ""}) {
    write_text(program, begin + answer + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    start({program.string()});
    const RewardResult result = ask();
    EXPECT_EQ(brief(result), "3 ok") << result.detail;
  }
}

}  // namespace
}  // namespace cohort
