// The sandbox under whoever may start it: limits, users, containers and signals that it does not choose.
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/core/test_files.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

// Where we are started under limits that are lower than those of a job already.
TEST(SandboxStart, LivesWithLowerLimits) {
  for (const char* limits : {"ulimit -n 200", "ulimit -c 0", "ulimit -s 8192"}) {
    const std::string text = output_of(std::string(limits) + "; " + sandboxd_path() + " --self-test");
    EXPECT_EQ(text.substr(0, text.find('\n')), best_level()) << limits << ": " << text;
  }
}

TEST(SandboxStart, LivesUnderAParentThatIgnoresItsChildren) {
  signal(SIGCHLD, SIG_IGN);
  {
    Sandbox sandbox(sandbox_options());
    EXPECT_EQ(brief(sandbox.run(python_job("pass"))), "exit 0");
  }
  signal(SIGCHLD, SIG_DFL);
}

// User 0 of a namespace that an ordinary user has made, as in a rootless container.
TEST(SandboxStart, LivesInARootlessContainer) {
  const TemporaryDirectory folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::copy_file(sandboxd_path(), folder.path() / "cohort-sandboxd");
  const std::string user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  const std::string text =
      output_of(user + "unshare -Ur " + (folder.path() / "cohort-sandboxd").string() + " --self-test 2>&1");
  EXPECT_TRUE(text.starts_with("PARTIAL(memory)\n")) << text;
}

// User 0 outside is one that nothing keeps from the machine's files.
TEST(SandboxStart, IsNoneWhereJobsWouldRunAsTheMachinesRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string text = output_of("unshare -Ur " + sandboxd_path() + " --self-test");
  EXPECT_TRUE(text.starts_with("NONE\n")) << text;
  EXPECT_NE(text.find("layer user is missing"), std::string::npos) << text;
}

// The control group of another launcher that has our number, in a container of its own.
TEST(SandboxStart, AControlGroupThatIsTakenGetsAnotherName) {
  const std::string own = output_of(
      "sed -n 's/^[0-9]*:[^:]*memory[^:]*:/\\/sys\\/fs\\/cgroup\\/memory/p; s/^0::/\\/sys\\/fs\\/cgroup/p' "
      "/proc/self/cgroup | head -n 1 | tr -d '\\n'");
  if (!is_full() || access(own.c_str(), W_OK) != 0) GTEST_SKIP() << "needs control groups";
  const std::string taken = own + "/cohort-sandbox-1";
  ASSERT_EQ(output_of("mkdir -p " + taken + "/held 2>&1"), "");
  const std::string text =
      output_of("unshare --pid --fork --mount-proc " + sandboxd_path() + " --self-test 2>&1");
  EXPECT_EQ(text, "FULL\n");
  EXPECT_EQ(output_of("ls -d " + taken + "-* 2>/dev/null"), "");
  EXPECT_EQ(output_of("rmdir " + taken + "/held " + taken + " 2>&1"), "");
}

// What the self-test puts in reach of its escapes must end with it, even where it is killed.
TEST(SandboxStart, TheMachineHoldsNoQueueOfTheSelfTest) {
  const std::string user = geteuid() == 0 ? "" : "-Ur ";
  const std::string text = output_of(
      "unshare " + user + "--ipc sh -c '" + sandboxd_path() +
      " --self-test > /dev/null & while kill -0 $! 2> /dev/null; do sed 1d /proc/sysvipc/msg; done' 2>&1");
  EXPECT_EQ(text, "");
}

TEST(SandboxStart, FailuresToSetUpNameTheirOwnCure) {
  const std::string text = output_of("unshare -U " + sandboxd_path() + " --self-test 2>&1");
  EXPECT_TRUE(text.starts_with("NONE\n")) << text;
  EXPECT_NE(text.find("user namespaces (unshare): Operation not permitted\nlayer user is missing"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("layer files"), std::string::npos) << text;
}

}  // namespace
}  // namespace cohort
