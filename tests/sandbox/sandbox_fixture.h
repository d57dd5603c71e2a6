// One sandbox for all tests of a suite, at the best level that this machine and user have.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "cohort/rewards/code_language.h"
#include "cohort/rewards/sandbox.h"

namespace cohort {

inline std::string sandboxd_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cohort-sandboxd").string();
}

/// What the shell's `line` prints.
inline std::string output_of(const std::string& line) {
  FILE* pipe = popen(line.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t count; pipe != nullptr && (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    text.append(buffer, count);
  pclose(pipe);
  return text;
}

/// What `cohort-sandboxd --self-test` prints with `arguments`.
inline std::string self_test(const std::string& arguments) {
  return output_of(sandboxd_path() + " --self-test " + arguments);
}

inline const CodeLanguage& python() {
  static const CodeLanguage language = find_language("code: ", {});
  return language;
}

/// FULL, or PARTIAL(memory) for who may not make control groups.
inline std::string best_level() {
  static const std::string level = [] {
    const std::string text = self_test("");
    return text.substr(0, text.find('\n'));
  }();
  return level;
}

inline bool is_full() { return best_level() == "FULL"; }

/// What must be waived to start here.
inline std::vector<std::string> waived_layers() {
  if (is_full()) return {};
  return {"memory"};
}

inline SandboxOptions sandbox_options(int64_t num_workers = 1) {
  SandboxOptions options;
  options.runtime = python().runtime;
  options.waived = waived_layers();
  options.num_workers = num_workers;
  return options;
}

inline SandboxJob python_job(const std::string& program) {
  SandboxJob job;
  job.command = with_files(python().run, "/.cohort/box/program.py", "");
  job.environment = python().environment;
  job.files = {{"program.py", program}};
  job.limits.wall_ms = 1000;
  job.limits.memory_bytes = 128 << 20;
  job.limits.output_bytes = 64 << 10;
  job.limits.num_processes = is_full() ? 32 : 4;
  return job;
}

/// Skips all where the machine lets nobody make a user namespace: there is nothing to test then.
class NeedsNamespaces : public testing::Environment {
 public:
  void SetUp() override {
    const pid_t pid = fork();
    if (pid == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) GTEST_SKIP() << "this machine allows no user namespaces";
  }
};

class SandboxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { sandbox_ = std::make_unique<Sandbox>(sandbox_options()); }
  static void TearDownTestSuite() { sandbox_.reset(); }

  /// Runs `job`, and holds the sandbox to the job's deadline.
  SandboxOutcome run(const SandboxJob& job) {
    SandboxOutcome outcome = sandbox_->run(job);
    EXPECT_NE(outcome.cause, SandboxCause::kFailure) << outcome.failure;
    return outcome;
  }

  SandboxOutcome run(const std::string& program) { return run(python_job(program)); }

  inline static std::unique_ptr<Sandbox> sandbox_;
};

/// "exit 1" and the like, to compare and to print.
inline std::string brief(const SandboxOutcome& outcome) {
  constexpr const char* kNames[] = {"exit", "signal", "timeout", "memory", "output", "forbidden", "failure"};
  std::string text = kNames[static_cast<int>(outcome.cause)];
  if (outcome.cause == SandboxCause::kExit || outcome.cause == SandboxCause::kSignal)
    text += " " + std::to_string(outcome.code);
  return text;
}

}  // namespace cohort
