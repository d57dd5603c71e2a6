// How many isolated Python programs a second the sandbox runs, and how long one takes.
//   bench_sandbox_speed [JOBS [WORKERS]]
// Run it beside cohort-sandboxd, as root for FULL: otherwise the layer "memory" is waived.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/rewards/code_language.h"
#include "cohort/rewards/sandbox.h"

namespace {

using cohort::SandboxJob;

void measure(cohort::Sandbox& sandbox, const char* name, const std::string& program, size_t num_jobs) {
  const cohort::CodeLanguage python = cohort::find_language("code: ", {});
  SandboxJob job;
  job.command = cohort::with_files(python.run, std::string(cohort::kBoxFolder) + "/program.py", "");
  job.environment = python.environment;
  job.files = {{"program.py", program}};
  std::vector<double> times_ms;
  double cpu_ms = 0.0;
  const auto start = std::chrono::steady_clock::now();
  sandbox.run(std::vector<SandboxJob>(num_jobs, job), [&](size_t, const cohort::SandboxOutcome& outcome) {
    if (outcome.cause != cohort::SandboxCause::kExit) throw cohort::InternalError(outcome.failure);
    times_ms.push_back(static_cast<double>(outcome.wall_us) / 1000.0);
    cpu_ms += static_cast<double>(outcome.cpu_us) / 1000.0;
    return true;
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::sort(times_ms.begin(), times_ms.end());
  std::cout << name << ": " << static_cast<double>(num_jobs) / seconds.count() << " a second; one takes "
            << times_ms[num_jobs / 2] << " ms (median), " << times_ms[num_jobs * 95 / 100] << " ms (p95), "
            << cpu_ms / static_cast<double>(num_jobs) << " ms of them processor time\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const size_t num_jobs = argc > 1 ? std::stoul(argv[1]) : 400;
    cohort::SandboxOptions options;
    options.runtime = cohort::find_language("code: ", {}).runtime;
    options.num_workers = argc > 2 ? std::stol(argv[2]) : 0;
    if (geteuid() != 0) options.waived = {"memory"};
    const auto start = std::chrono::steady_clock::now();
    cohort::Sandbox sandbox(options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << "level " << sandbox.level() << ", " << sandbox.worker_pids().size()
              << " workers, started in " << seconds.count() << " s\n";
    measure(sandbox, "nothing", "pass", num_jobs);
    measure(sandbox, "some imports", "import collections, functools, heapq, itertools, json, math, re",
            num_jobs);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
