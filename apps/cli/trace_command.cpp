// cohort trace: steps of a run for an OpenTelemetry viewer.
#include "apps/cli/command.h"
#include "cohort/core/atomic_file.h"
#include "cohort/core/json.h"
#include "cohort/view/trace.h"

namespace cohort::cli {
namespace {

struct TraceConfig {
  std::optional<int64_t> step;
  std::string output;

  void describe(FieldVisitor& f) {
    f("step", step, "A step of the run; without it all steps.", at_least(1));
    f("output", output, "File to write: OTLP as JSON.");
  }
};

}  // namespace

int trace_command(const Command& self, const Arguments& arguments) {
  TraceConfig config;
  const auto path = read_one_argument(self, arguments, config, "the directory of a run");
  if (!path) return 0;
  require(config.output, "output");
  const RunView run(*path);
  const std::vector<int64_t> steps = config.step ? std::vector<int64_t>{*config.step} : timed_steps(run);
  write_file_atomically(config.output, to_json_text(otlp_trace(run, steps)) + "\n");
  return 0;
}

}  // namespace cohort::cli
