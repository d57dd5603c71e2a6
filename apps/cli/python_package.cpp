#include "apps/cli/python_package.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace cohort::cli {
namespace {

// As -m does it, but with a line of our own where the package is missing.
constexpr const char* kScript = R"(import sys
try:
    from cohort.commands import main
except ImportError:
    print(f'cohort: {sys.executable} has no package cohort, which this command needs: run `pip install .` in its '
          'repository, or set PYTHONPATH to the folder that holds it', file=sys.stderr)
    sys.exit(2)
sys.exit(main(program='cohort')))";

}  // namespace

void run_python_package(const Arguments& arguments) {
  std::cout.flush();
  Arguments command{"python3", "-c", kScript};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  for (std::string& argument : command) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  throw ConfigError(str("python3 can't be run: ", std::strerror(errno)));
}

int run_command_in_python(const Command& self, const Arguments& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    print_help(self, Section{});
    return 0;
  }
  Arguments all{self.name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  run_python_package(all);
}

}  // namespace cohort::cli
