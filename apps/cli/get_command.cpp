// cohort get: a model directory from a package registry, or recipes.
#include "apps/cli/python_package.h"

namespace cohort::cli {

int get_command(const Command& self, const Arguments& arguments) {
  return run_command_in_python(self, arguments);
}

}  // namespace cohort::cli
