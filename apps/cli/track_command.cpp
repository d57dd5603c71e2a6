// cohort track: a run in an experiment tracker.
#include "apps/cli/python_package.h"

namespace cohort::cli {

int track_command(const Command& self, const Arguments& arguments) {
  return run_command_in_python(self, arguments);
}

}  // namespace cohort::cli
