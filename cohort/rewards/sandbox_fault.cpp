// Why a job of the sandbox did not end as it should, for people and for policies.
#include <cstring>

#include "cohort/rewards/sandbox_protocol.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

std::string last_line(const std::string& text) {
  const std::string_view all = trim(text);
  return std::string(all.substr(all.rfind('\n') + 1));
}

}  // namespace

std::string find_end_fault(const SandboxOutcome& outcome, const SandboxLimits& limits) {
  const std::string said = outcome.error_tail.empty() ? "" : ", " + excerpt(last_line(outcome.error_tail));
  switch (outcome.cause) {
    case SandboxCause::kExit:
      return outcome.code == 0 ? "" : str("crash, exit status ", outcome.code, said);
    case SandboxCause::kSignal:
      return str("crash, signal ", outcome.code, " (", strsignal(outcome.code), ")", said);
    case SandboxCause::kTimeout:
      // Little processor time in it: the program slept, or the machine was busy with other things.
      return str("timeout after ", limits.wall_ms / 1000.0, " s (", outcome.cpu_us / 1000000.0,
                 " s of processor time)");
    case SandboxCause::kMemory:
      return str("more than ", limits.memory_bytes >> 20, " MiB of memory");
    case SandboxCause::kOutputLimit:
      return str("more than ", limits.output_bytes, " bytes of output");
    case SandboxCause::kForbiddenCall:
      return "forbidden system call";
    default:
      return outcome.failure;
  }
}

}  // namespace cohort
