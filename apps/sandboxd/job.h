// The inside of the sandbox: process 1 of a job, which prepares its file system and outlives it, and process
// 2, which gives up every right and becomes the program.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "apps/sandboxd/layers.h"
#include "apps/sandboxd/system.h"
#include "cohort/rewards/sandbox_protocol.h"

namespace cohort {

/// The user id of jobs inside; outside it is another one for each launcher.
constexpr uid_t kInnerUser = 1000;

/// What all jobs of a launcher share.
struct Cell {
  LayerSet layers;                   ///< those that are switched on
  std::vector<std::string> runtime;  ///< paths whose files a job may read and execute
  std::vector<sock_filter> filter;
  int landlock_version = 0;
  uid_t outer_user = 0;  ///< what kInnerUser is outside
  gid_t outer_group = 0;
  bool limits_memory = false;  ///< by a control group; if not, address space x processes is the bound
};

/// Runs in the place of a program, with all that a program is bound by; what it returns is the exit status.
using Escape = std::function<int()>;

/// What a session talks to the trainer through; both are closed for other jobs.
struct SessionFiles {
  UniqueFile channel{};  ///< a socket: the program's standard input and output
  UniqueFile output{};   ///< the write end of a pipe: its standard error
};

/// The ends of pipes that belong to a job.
struct JobFiles {
  int input;
  int output;
  int error;
  int go;      ///< a byte comes when the launcher has set everything up; ends when the launcher dies
  int report;  ///< a ProgramStart if it comes to that; a JobReport; the bytes of the result file
};

/// A process says so right before it becomes the program. From here on a first process that ends without a
/// JobReport was ended by the program. No JobReport begins with the mark.
struct ProgramStart {
  static constexpr char kMark = '\1';
  char mark = kMark;
  int64_t time_ns = 0;  ///< by the steady clock
};

struct JobReport {
  char stage[48] = {};  ///< what could not be done; empty when the program was started
  int32_t error = 0;    ///< errno of that
  int32_t status = 0;   ///< as waitpid gives it
  int32_t has_result = 0;
  int64_t end_ns = 0;  ///< when the program ended, by the steady clock
};

/// Now, as ProgramStart and JobReport tell it.
int64_t steady_time_ns();

/// The report of a job that could not be started. The text of a system_error ends with that of its number.
JobReport report_failure(const std::system_error& error);

/// What process 1 does; never returns. `escape` is empty but in self-tests.
[[noreturn]] void run_job_init(const Cell& cell, const SandboxJob& job, const Escape& escape,
                               const JobFiles& files);

/// The bytes of RLIMIT_AS.
int64_t address_space(const Cell& cell, const SandboxLimits& limits);

}  // namespace cohort
