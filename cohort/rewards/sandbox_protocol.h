// What a trainer and cohort-sandboxd say to each other over a socket: messages of a length and fields, one
// job at a time. The trainer's end never holds what a program is expected to print: that stays with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// What every job sees, where no machine has folders of its own: its files, read-only, and its working
/// directory, the only place that it may write to.
constexpr const char* kBoxFolder = "/.cohort/box";
constexpr const char* kWorkFolder = "/.cohort/work";

/// A file that a job finds in kBoxFolder, which it can only read.
struct SandboxFile {
  std::string name;  ///< without a slash
  std::string bytes;
  bool is_program = false;  ///< may be executed; what a job writes itself never can
};

struct SandboxLimits {
  int64_t wall_ms = 2000;
  int64_t memory_bytes = 256 << 20;
  int64_t output_bytes = 1 << 20;  ///< of standard output, and of standard error
  int64_t file_bytes = 32 << 20;   ///< all that it writes into kWorkFolder, and its result file
  int64_t num_processes = 32;      ///< processes and threads at a time
};

/// One run of one program in a process and a file system of its own.
struct SandboxJob {
  std::vector<std::string> command;      ///< the program's absolute path and its arguments
  std::vector<std::string> environment;  ///< NAME=value; nothing is inherited
  std::vector<SandboxFile> files;
  std::string input;        ///< standard input
  std::string result_file;  ///< a file of kWorkFolder to hand back; none if empty
  SandboxLimits limits;
  /// Standard input and output are one socket to the trainer, standard error is a pipe to it, and the job
  /// ends when the trainer closes the socket (sandbox_session.h).
  bool is_session = false;
};

enum class SandboxCause : uint8_t {
  kExit,           ///< `code` is the exit status
  kSignal,         ///< `code` is the signal
  kTimeout,        ///< wall time or processor time
  kMemory,         ///< killed for want of memory
  kOutputLimit,    ///< it wrote more than `output_bytes`
  kForbiddenCall,  ///< killed for a system call that no tested program needs
  kFailure,        ///< the sandbox failed, not the job; `failure` says how
};

struct SandboxOutcome {
  SandboxCause cause = SandboxCause::kFailure;
  int32_t code = 0;
  std::string output;      ///< standard output
  std::string error_tail;  ///< the last 4 KiB of standard error
  std::string result;      ///< the result file where there is one: regular, no link, not too large
  bool has_result = false;
  int64_t wall_us = 0;
  int64_t cpu_us = 0;
  std::string failure;
};

/// What ended a job of these limits, in words; empty for an exit with status 0.
std::string find_end_fault(const SandboxOutcome& outcome, const SandboxLimits& limits);

/// The first message of cohort-sandboxd: what its self-test found.
struct SandboxGreeting {
  bool is_accepted = false;  ///< the level is at least the one that was required
  std::string level;         ///< FULL, PARTIAL(layers) or NONE
  std::string explanation;   ///< which layers are missing and how to mend that; empty at FULL
  bool limits_memory = false;
};

std::string encode(const SandboxJob& job);
std::string encode(const SandboxOutcome& outcome);
std::string encode(const SandboxGreeting& greeting);

/// Nothing for bytes that are no such message.
std::optional<SandboxJob> decode_job(std::string_view bytes);
std::optional<SandboxOutcome> decode_outcome(std::string_view bytes);
std::optional<SandboxGreeting> decode_greeting(std::string_view bytes);

/// A message on the socket: this many bytes that say how long the rest is.
constexpr size_t kSandboxHeaderBytes = 8;
constexpr uint64_t kMaxSandboxMessage = uint64_t{1} << 30;

std::string sandbox_header(uint64_t size);

/// The length behind `header`; nothing when it is above kMaxSandboxMessage.
std::optional<uint64_t> read_sandbox_header(std::string_view header);

}  // namespace cohort
