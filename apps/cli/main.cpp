// The program's entry: finds the command, and turns what the user can mend into one line and exit code 2.
#include <signal.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/dist/group.h"
#include "cohort/ops/cpu_arch.h"
#include "libs/common/nearest.h"
#include "libs/common/visible_text.h"

namespace cohort::cli {

#define COMMAND(name, synopsis, summary) int name##_command(const Command& self, const Arguments& arguments);
#include "apps/cli/commands.def"
#undef COMMAND

const std::vector<Command>& commands() {
  static const std::vector<Command> list = [] {
    std::vector<Command> all{
#define COMMAND(name, synopsis, summary) {#name, synopsis, summary, name##_command},
#include "apps/cli/commands.def"
#undef COMMAND
    };
    for (Command& command : all) std::replace(command.name.begin(), command.name.end(), '_', '-');
    return all;
  }();
  return list;
}

void print_help(const Command& command, const Section& settings) {
  std::cout << "cohort " << command.name << " " << command.synopsis << "\n\n"
            << command.summary << ".\n\n"
            << to_help(settings);
}

void refuse_arguments(const Command& command, const Arguments& rest) {
  throw ConfigError(str("cohort ", command.name, ": unexpected argument \"", rest.front(), "\"; see cohort ",
                        command.name, " --help"));
}

void require(const std::string& value, const char* flag) {
  if (value.empty()) throw ConfigError(str("--", flag, " is required"));
}

namespace {

void print_usage() {
  std::cout << "cohort COMMAND ... : reinforcement-learning post-training of language models with GRPO\n\n";
  for (const Command& command : commands())
    std::printf("  %-13s %s\n", command.name.c_str(), command.summary);
  std::cout
      << "\n`cohort COMMAND --help` lists the command's keys; `cohort --version` tells what is installed.\n";
}

/// Torch says so in the text of an error of its own.
bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         std::string(error.what()).find("can't allocate memory") != std::string::npos;
}

int run(const Arguments& arguments) {
  // `cohort help COMMAND` is `cohort COMMAND --help`.
  if (arguments.size() == 2 && arguments[0] == "help") return run({arguments[1], "--help"});
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_usage();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    std::cout << "cohort " COHORT_VERSION ", with torch " TORCH_VERSION "\n";
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (arguments[0] == command.name) return command.run(command, {arguments.begin() + 1, arguments.end()});
    names.emplace_back(command.name);
  }
  throw ConfigError(str("unknown command \"", arguments[0], "\"; the nearest is \"",
                        nearest_name(arguments[0], names), "\" (see cohort --help)"));
}

}  // namespace
}  // namespace cohort::cli

int main(int argc, char** argv) {
  signal(SIGCHLD, SIG_DFL);  // ignored, the exit status of no program that we start would be known
  try {
    cohort::limit_libraries_to_cpu_arch();
    return cohort::cli::run({argv + 1, argv + argc});
  } catch (const cohort::UserError& error) {
    std::cerr << "cohort: " << cohort::visible_text(error.what()) << "\n";
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "cohort: " << cohort::visible_text(error.what()) << "\n";
    return 2;
  } catch (const cohort::dist::RankLost& error) {
    std::cerr << "cohort: " << cohort::visible_text(error.what()) << "\n";
    return cohort::dist::kRankLostExitCode;
  } catch (const std::exception& error) {
    if (cohort::cli::is_out_of_memory(error)) {
      std::cerr
          << "cohort: the memory is used up; take a smaller model, fewer or shorter completions, or fewer "
             "tokens_per_microbatch\n";
      return 2;
    }
    std::cerr << "cohort: internal error: " << cohort::visible_text(error.what()) << "\n";
    return 1;
  }
}
