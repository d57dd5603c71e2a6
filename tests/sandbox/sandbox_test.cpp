// The sandbox as its callers see it: what a job gets and returns, its levels, and what is left behind.
#include "cohort/rewards/sandbox.h"

#include <dirent.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <set>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

class SandboxJobs : public SandboxTest {};

TEST_F(SandboxJobs, GivesBackOutputStatusAndTime) {
  SandboxJob job =
      python_job("import sys; print(sys.stdin.read().upper()); print('why', file=sys.stderr); sys.exit(3)");
  job.input = "abc";
  const SandboxOutcome outcome = run(job);
  EXPECT_EQ(brief(outcome), "exit 3");
  EXPECT_EQ(outcome.output, "ABC\n");
  EXPECT_EQ(outcome.error_tail, "why\n");
  EXPECT_GT(outcome.wall_us, 0);
  EXPECT_GT(outcome.cpu_us, 0);
}

// Whatever the machine's speed, a program knows how much processor time it has used at the least. One that
// is killed says so too late: it prints as it goes.
TEST_F(SandboxJobs, AJobThatIsKilledHasItsProcessorTime) {
  constexpr const char* kBurn =
      "while True:\n  if time.process_time() > t: t = time.process_time() + 0.05; print(t - 0.05, "
      "flush=True)\n";
  for (const char* begin : {"import os, time\nt = 0.0\n",
                            "import os, time\nt = 0.0\nif os.fork() > 0: time.sleep(100)\nos.setsid()\n"}) {
    SandboxJob job = python_job(std::string(begin) + kBurn);
    job.limits.wall_ms = 2000;
    const SandboxOutcome outcome = run(job);
    EXPECT_EQ(brief(outcome), "timeout");
    ASSERT_GT(outcome.output.size(), 2U);
    const size_t last = outcome.output.rfind('\n', outcome.output.size() - 2);
    const double seconds = std::stod(outcome.output.substr(last == std::string::npos ? 0 : last + 1));
    EXPECT_GT(seconds, 0.0);
    EXPECT_GE(static_cast<double>(outcome.cpu_us), (seconds - 0.03) * 1e6) << begin;  // the kernel's ticks
    EXPECT_LT(outcome.cpu_us, 3 * outcome.wall_us);
  }
}

TEST_F(SandboxJobs, KeepsTheTailOfStandardError) {
  const SandboxOutcome outcome = run("import sys; sys.stderr.write('x' * 30000 + 'end')");
  EXPECT_EQ(outcome.error_tail.size(), 4096U);
  EXPECT_TRUE(outcome.error_tail.ends_with("xend"));
}

TEST_F(SandboxJobs, RunsEveryJobOnceAndInParallel) {
  Sandbox sandbox(sandbox_options(2));
  std::vector<SandboxJob> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(python_job("print(" + std::to_string(i) + ")"));
  std::map<size_t, std::string> outputs;
  sandbox.run(jobs, [&](size_t job, const SandboxOutcome& outcome) {
    EXPECT_TRUE(outputs.emplace(job, outcome.output).second);
    return true;
  });
  ASSERT_EQ(outputs.size(), 20U);
  for (const auto& [job, output] : outputs) EXPECT_EQ(output, std::to_string(job) + "\n");
}

TEST_F(SandboxJobs, StopsWhenToldTo) {
  int num_ended = 0;
  sandbox_->run(std::vector<SandboxJob>(5, python_job("pass")),
                [&](size_t, const SandboxOutcome&) { return ++num_ended < 2; });
  EXPECT_EQ(num_ended, 2);
}

TEST_F(SandboxJobs, KillsWhatStillRunsWhenTheCallerThrows) {
  Sandbox sandbox(sandbox_options(2));
  const std::vector<SandboxJob> jobs{python_job("print('first')"),
                                     python_job("import time; time.sleep(0.5); print('late')")};
  EXPECT_THROW(sandbox.run(jobs, [](size_t, const SandboxOutcome&) -> bool { throw ConfigError("enough"); }),
               ConfigError);
  // No answer of before belongs to what runs now, on either worker.
  const auto is_next = [](size_t, const SandboxOutcome& outcome) {
    EXPECT_EQ(outcome.output, "next\n");
    return true;
  };
  sandbox.run(std::vector<SandboxJob>(4, python_job("print('next')")), is_next);
}

TEST_F(SandboxJobs, MakesJobsAsTheyAreStarted) {
  size_t num_made = 0, num_ended = 0;
  const auto make_job = [&](size_t job) {
    EXPECT_EQ(job, num_made++);
    EXPECT_LE(num_made - num_ended, 1U);
    return python_job("pass");
  };
  sandbox_->run(4, make_job, [&](size_t, const SandboxOutcome&) { return ++num_ended < 3; });
  EXPECT_EQ(num_made, 3U);
}

TEST_F(SandboxJobs, AProgramOfTheMachineThatIsMissingIsOurFailure) {
  SandboxJob job = python_job("");
  job.command = {"/usr/bin/no-such-program"};
  const SandboxOutcome outcome = sandbox_->run(job);
  EXPECT_EQ(brief(outcome), "failure");
  EXPECT_NE(outcome.failure.find("no-such-program"), std::string::npos) << outcome.failure;
  // A program that the job brought along is its own.
  job.command = {"/.cohort/box/program"};
  job.files.push_back({"program", "no program at all", true});
  EXPECT_EQ(brief(sandbox_->run(job)), "exit 126");
}

TEST_F(SandboxJobs, RefusesJobsThatNoTrainerSends) {
  for (const char* name : {"", ".", "..", "a/b", "../x"}) {
    SandboxJob job = python_job("");
    job.files.push_back({name, ""});
    EXPECT_EQ(brief(sandbox_->run(job)), "failure") << name;
  }
  SandboxJob job = python_job("");
  job.limits.memory_bytes = 0;
  EXPECT_EQ(brief(sandbox_->run(job)), "failure");
}

// Several threads use more processor time than wall time.
TEST_F(SandboxJobs, ProcessorTimeIsThatOfAllCores) {
  SandboxJob job = python_job(
      "import os, resource\n"
      "print(resource.getrlimit(resource.RLIMIT_CPU)[0] >= 7 * len(os.sched_getaffinity(0)))");
  job.limits.wall_ms = 7000;
  EXPECT_EQ(run(job).output, "True\n");
}

// A limit so low that the launcher itself, which holds the input, would not have room.
TEST_F(SandboxJobs, ALargeInputNeedsNoMemoryOfTheProgram) {
  SandboxJob job = python_job("print(1)");
  job.limits.wall_ms = 20000;
  job.limits.memory_bytes = 20 << 20;
  if (!is_full()) job.limits.memory_bytes = 128 << 20;
  job.input = std::string(15 << 20, 'x');
  const pid_t launcher = sandbox_->worker_pids().at(0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(job).output, "1\n");
  EXPECT_EQ(sandbox_->worker_pids().at(0), launcher);
}

TEST_F(SandboxJobs, AFileIsHandedBack) {
  SandboxJob job = python_job("open('result', 'wb').write(b'\\0' * 100000 + b'end')");
  job.result_file = "result";
  const SandboxOutcome outcome = run(job);
  EXPECT_TRUE(outcome.has_result);
  EXPECT_EQ(outcome.result.size(), 100003U);
  job.files[0].bytes = "pass";
  EXPECT_FALSE(run(job).has_result);
}

TEST(SandboxLevel, IsFullForRootAndWithoutMemoryForOthers) {
  const bool may_make_groups = access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) == 0 ||
                               access("/sys/fs/cgroup/cgroup.subtree_control", W_OK) == 0;
  EXPECT_EQ(best_level(), may_make_groups ? "FULL" : "PARTIAL(memory)") << self_test("");
}

// Each layer left out in turn: exactly this one is named, with what to do, and nothing starts.
TEST(SandboxLevel, TheSelfTestNamesEveryLayerThatIsRemoved) {
  for (const char* layer : {"user", "files", "pids", "network", "ipc", "hostname", "cgroup", "capabilities",
                            "landlock", "seccomp", "memory", "processes", "limits"}) {
    // An ordinary user's processes are never those of user 0; its control group may have no name.
    if (geteuid() != 0 && (std::string(layer) == "user" || std::string(layer) == "cgroup")) continue;
    const std::string text = self_test("--without " + std::string(layer));
    EXPECT_NE(text.find("layer " + std::string(layer) + " is missing"), std::string::npos)
        << layer << ": " << text;
    EXPECT_NE(text.find("To mend it: "), std::string::npos) << text;
    for (const char* other : {"files", "network", "landlock", "seccomp", "processes", "limits"}) {
      if (std::string(layer) == other) continue;
      EXPECT_EQ(text.find("layer " + std::string(other) + " is missing"), std::string::npos)
          << layer << ": " << text;
    }
    SandboxOptions options = sandbox_options();
    options.waived.clear();
    options.removed = {layer};
    const std::string message = message_of<ConfigError>([&] { Sandbox sandbox(options); });
    EXPECT_NE(message.find("layer " + std::string(layer) + " is missing"), std::string::npos) << message;
  }
}

TEST(SandboxLevel, StartsWithoutWhatIsWaivedAndSaysSo) {
  SandboxOptions options = sandbox_options();
  options.removed = {"landlock", "hostname"};
  options.waived.insert(options.waived.end(), {"landlock", "hostname"});
  Sandbox sandbox(options);
  EXPECT_NE(sandbox.level().find("landlock"), std::string::npos);
  EXPECT_NE(sandbox.level().find("hostname"), std::string::npos);
  EXPECT_TRUE(sandbox.level().starts_with("PARTIAL("));
  EXPECT_EQ(brief(sandbox.run(python_job("pass"))), "exit 0");
}

TEST(SandboxLevel, WithoutAnEssentialLayerNothingStartsEvenIfWaived) {
  SandboxOptions options = sandbox_options();
  options.removed = {"seccomp"};
  options.waived.emplace_back("seccomp");
  EXPECT_NE(message_of<ConfigError>([&] { Sandbox sandbox(options); }).find("NONE"), std::string::npos);
}

TEST(SandboxStart, NamesTheProgramThatIsMissing) {
  SandboxOptions options = sandbox_options();
  options.program = "/no/such/sandboxd";
  EXPECT_NE(message_of<ConfigError>([&] { Sandbox sandbox(options); }).find("/no/such/sandboxd"),
            std::string::npos);
  options.program = "/bin/true";
  EXPECT_NE(message_of<ConfigError>([&] { Sandbox sandbox(options); }).find("/bin/true"), std::string::npos);
}

// Stands in for cohort-sandboxd: greets, and answers the first job with `answer`.
std::filesystem::path make_impostor(const std::filesystem::path& folder, const std::string& answer) {
  SandboxGreeting accepted;
  accepted.is_accepted = true;
  const std::string greeting = encode(accepted);
  write_text(folder / "greeting", sandbox_header(greeting.size()) + greeting);
  write_text(folder / "answer", answer);
  const std::string name = (folder / "impostor").string();
  write_text(
      name,
      "#!/bin/sh\ncd " + folder.string() +
          "\necho start >> starts\n/bin/cat greeting >&0\n/usr/bin/head -c 8 > /dev/null\n/bin/cat answer "
          ">&0\nexec /bin/cat > /dev/null\n");
  std::filesystem::permissions(name, std::filesystem::perms::owner_all);
  return name;
}

TEST(SandboxStart, AnswersThatAreNoneAreFailuresAfterThreeAttempts) {
  const std::string empty = encode(SandboxOutcome{});
  for (const std::string& answer :
       {std::string(64, '\0'), std::string(64, '\xff'), sandbox_header(3) + "abc",
        sandbox_header(empty.size()) + empty + "more", sandbox_header(empty.size() + 1) + empty}) {
    TemporaryDirectory folder;
    SandboxOptions options = sandbox_options();
    options.answer_timeout_s = 0.2;
    options.program = make_impostor(folder.path(), answer);
    Sandbox sandbox(options);
    SandboxJob job = python_job("print(1)");
    job.limits.wall_ms = 100;
    EXPECT_EQ(brief(sandbox.run(job)), "failure");
    EXPECT_EQ(read_text(folder.path() / "starts"), "start\nstart\nstart\n");
  }
}

// One that takes the place of another must hold what that one held.
TEST(SandboxStart, AWorkerAtAnotherLevelFailsTheJob) {
  const TemporaryDirectory folder;
  SandboxOptions options = sandbox_options();
  options.answer_timeout_s = 0.2;
  options.program = make_impostor(folder.path(), sandbox_header(3) + "abc");
  const auto greet_at = [&](const std::string& level) {
    SandboxGreeting accepted;
    accepted.is_accepted = true;
    accepted.level = level;
    const std::string greeting = encode(accepted);
    write_text(folder.path() / "greeting", sandbox_header(greeting.size()) + greeting);
  };
  greet_at("FULL");
  Sandbox sandbox(options);
  greet_at("PARTIAL(memory)");
  SandboxJob job = python_job("print(1)");
  job.limits.wall_ms = 100;
  const SandboxOutcome outcome = sandbox.run(job);
  EXPECT_EQ(brief(outcome), "failure");
  EXPECT_EQ(outcome.failure,
            "the sandbox holds at level PARTIAL(memory) now, and held at FULL when the run began");
}

// What a machine has: processes, mounts, control groups, files in the usual places.
std::map<std::string, std::set<std::string>> inventory() {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    found["files"].insert(std::filesystem::read_symlink(entry.path(), error).string());
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) found["mounts"].insert(line);
  for (const char* folder : {"/sys/fs/cgroup", "/tmp", "/dev/shm", "/.cohort"}) {
    const bool is_groups = std::string(folder) == "/sys/fs/cgroup";
    auto options = std::filesystem::directory_options::skip_permission_denied;
    std::error_code error;
    for (auto entry = std::filesystem::recursive_directory_iterator(folder, options, error);
         !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      if (!is_groups && entry.depth() > 0) entry.disable_recursion_pending();
      const std::string name = entry->path().filename().string();
      const bool is_ours = name.starts_with("cohort-sandbox-") || name.starts_with("escape");
      if (is_groups ? is_ours : entry.depth() == 0) found[folder].insert(entry->path().string());
    }
  }
  return found;
}

void expect_nothing_left(int num_jobs) {
  auto before = inventory();
  std::vector<int> workers;
  {
    Sandbox sandbox(sandbox_options(2));
    workers = sandbox.worker_pids();
    std::vector<SandboxJob> jobs;
    for (int i = 0; i < num_jobs; ++i) {
      // Every tenth leaves a daemon behind, every tenth is killed for its output.
      jobs.push_back(python_job(i % 10 == 0
                                    ? "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(100)"
                                : i % 10 == 1 ? "while True: print('x' * 10000)"
                                              : "open('file', 'w').write('x' * 1000)"));
    }
    int num_good = 0;
    sandbox.run(jobs, [&](size_t, const SandboxOutcome& outcome) {
      num_good += brief(outcome) == "exit 0" || brief(outcome) == "output";
      return true;
    });
    EXPECT_EQ(num_good, num_jobs);
    for (int pid : workers) {
      std::ifstream children("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
      std::string child;
      EXPECT_FALSE(children >> child) << child;
      // Who is not root may not look at the files of a launcher.
      std::error_code error;
      const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd", error);
      if (!error) {
        EXPECT_LT(std::distance(begin(files), end(files)), 20);
      }
    }
  }
  for (int pid : workers) EXPECT_EQ(kill(pid, 0), -1);
  auto after = inventory();
  for (const char* kind : {"files", "mounts", "/sys/fs/cgroup", "/.cohort"})
    EXPECT_EQ(before[kind], after[kind]) << kind;
}

TEST(Sandbox, JobsLeaveNothingBehind) { expect_nothing_left(40); }

TEST(Sandbox, DISABLED_AThousandJobsLeaveNothing) { expect_nothing_left(1000); }

}  // namespace
}  // namespace cohort
