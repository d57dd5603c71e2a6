// Who dies, sleeps or is stopped while a job runs, and what that does to the job's outcome.
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

// The processes with `token` in their command lines. One that ends while it is read counts as gone.
std::vector<pid_t> processes_with(const std::string& token) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ostringstream line;
    line << std::ifstream(entry.path() / "cmdline").rdbuf();
    if (line.view().find(token) != std::string::npos) {
      found.push_back(std::stoi(entry.path().filename().string()));
    }
  }
  return found;
}

int count_processes(const std::string& token) { return static_cast<int>(processes_with(token).size()); }

// The process with `token` in its command line, once it is there.
pid_t await_process(const std::string& token) {
  for (int i = 0; i < 2000; ++i) {
    if (const auto found = processes_with(token); !found.empty()) return found.front();
    usleep(2000);
  }
  throw std::runtime_error("no process with " + token);
}

pid_t parent_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return -1;
}

std::string fresh_token() {
  static int number = 0;
  return "token-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

SandboxJob marked_job(const std::string& program, const std::string& token) {
  SandboxJob job = python_job(program);
  job.command.push_back(token);
  return job;
}

bool becomes_zero(const std::string& token) {
  for (int i = 0; i < 500; ++i) {
    if (count_processes(token) == 0) return true;
    usleep(10000);
  }
  return false;
}

constexpr const char* kManyProcesses =
    "import os, time\nfor i in range(1):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: "
    "break\ntime.sleep(100)";

TEST(SandboxDeath, AKilledWorkerLeavesNoProcessAndTheJobIsTriedAgain) {
  Sandbox sandbox(sandbox_options());
  const std::string token = fresh_token();
  SandboxJob job = marked_job(kManyProcesses, token);
  job.limits.wall_ms = 3000;
  std::thread killer([&, pid = sandbox.worker_pids().at(0)] {
    for (int i = 0; i < 1000 && count_processes(token) < 2; ++i) usleep(5000);
    kill(pid, SIGKILL);
  });
  // The second attempt runs to its deadline, in a worker of its own.
  EXPECT_EQ(brief(sandbox.run(job)), "timeout");
  killer.join();
  EXPECT_TRUE(becomes_zero(token));
}

TEST(SandboxDeath, ATrainerThatIsKilledLeavesNoProcess) {
  const std::string token = fresh_token();
  const pid_t trainer = fork();
  if (trainer == 0) {
    Sandbox sandbox(sandbox_options(2));
    SandboxJob job = marked_job(kManyProcesses, token);
    job.limits.wall_ms = 100000;
    sandbox.run({job, job}, [](size_t, const SandboxOutcome&) { return true; });
    _exit(0);
  }
  for (int i = 0; i < 1000 && count_processes(token) < 4; ++i) usleep(5000);
  EXPECT_GE(count_processes(token), 4);
  kill(trainer, SIGKILL);
  waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(becomes_zero(token));
}

TEST(SandboxDeath, AWorkerThatIsStoppedIsReplaced) {
  SandboxOptions options = sandbox_options();
  options.answer_timeout_s = 0.2;
  Sandbox sandbox(options);
  kill(sandbox.worker_pids().at(0), SIGSTOP);
  SandboxJob job = python_job("print(1)");
  const SandboxOutcome outcome = sandbox.run(job);
  EXPECT_EQ(outcome.output, "1\n");
}

// Whatever a program may find to end the first process of its job, it must not escape its score by it.
TEST(SandboxDeath, AFirstProcessThatEndsWhileTheProgramRunsIsTheProgramsCrash) {
  Sandbox sandbox(sandbox_options());
  const std::string token = fresh_token();
  SandboxJob job = marked_job("import time\ntime.sleep(100)", token);
  job.limits.wall_ms = 60000;
  std::thread killer([&] { kill(parent_of(await_process(token)), SIGKILL); });
  const SandboxOutcome outcome = sandbox.run(job);
  killer.join();
  EXPECT_EQ(brief(outcome), "signal 9") << outcome.failure;
}

// The launcher sleeps past the deadline of a program that ends in time.
TEST(SandboxDeath, ALauncherThatWasKeptWaitingDoesNotChargeTheProgram) {
  Sandbox sandbox(sandbox_options());
  const pid_t launcher = sandbox.worker_pids().at(0);
  for (const auto& [program, ending] :
       {std::pair("import time\ntime.sleep(0.3)\nprint('x' * 30000)", "exit 0"),
        std::pair("import time\ntime.sleep(3.5)", "timeout")}) {
    const std::string token = fresh_token();
    SandboxJob job = marked_job(program, token);
    job.limits.wall_ms = 3000;
    std::thread stopper([&] {
      await_process(token);
      kill(launcher, SIGSTOP);
      usleep(4'000'000);
      kill(launcher, SIGCONT);
    });
    const SandboxOutcome outcome = sandbox.run(job);
    stopper.join();
    EXPECT_EQ(brief(outcome), ending) << outcome.wall_us;
    if (brief(outcome) == "exit 0") {
      EXPECT_EQ(outcome.output.size(), 30001U);
    }
  }
}

}  // namespace
}  // namespace cohort
