// cohort track: a run in an experiment tracker.
#include "apps/cli/python_package.h"

namespace cohort::cli {

int track_command(const Command& self, const Arguments& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    print_help(self, Section{});
    return 0;
  }
  Arguments all{self.name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  run_python_package(all);
}

}  // namespace cohort::cli
