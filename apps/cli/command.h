// What the commands share: how they are listed, how their arguments are read and how they reach a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/tensor/compute.h"

namespace cohort::cli {

using Arguments = std::vector<std::string>;

struct Command {
  std::string name;
  const char* synopsis;  ///< what follows the name
  const char* summary;
  int (*run)(const Command& self, const Arguments& arguments);
};

/// All commands, in the order of --help.
const std::vector<Command>& commands();

/// Prints synopsis, summary and every key; for --help.
void print_help(const Command& command, const Section& settings);

[[noreturn]] void refuse_arguments(const Command& command, const Arguments& rest);

/// Fills `config` from TOML files (positional arguments ending in .toml) and flags; returns the other
/// positional arguments, or nothing after printing --help.
template <typename Config>
std::optional<Arguments> read_arguments(const Command& command, const Arguments& arguments, Config& config) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      print_help(command, settings_of(config));
      return std::nullopt;
    }
  }
  // The first pass finds the files, which flags override whatever their order. Flags may name items of lists
  // in those files, so it reads them too; what is wrong with one is said when it is applied below.
  Config ignored = config;
  for (const std::string& argument : arguments) {
    if (!argument.ends_with(".toml")) continue;
    try {
      apply_toml_file(settings_of(ignored), argument);
    } catch (const UserError&) {
      continue;
    }
  }
  Arguments rest;
  const Arguments positional = apply_flags(settings_of(ignored), arguments);
  if constexpr (requires { config.prepare(ignored); }) config.prepare(ignored);
  for (const std::string& argument : positional) {
    if (argument.ends_with(".toml")) {
      apply_toml_file(settings_of(config), argument);
    } else {
      rest.push_back(argument);
    }
  }
  apply_flags(settings_of(config), arguments);
  if constexpr (requires { config.settle(); }) config.settle();
  return rest;
}

/// The same for commands without positional arguments: any is an error.
template <typename Config>
bool read_flags(const Command& command, const Arguments& arguments, Config& config) {
  const auto rest = read_arguments(command, arguments, config);
  if (rest && !rest->empty()) refuse_arguments(command, *rest);
  return rest.has_value();
}

/// The same for commands with one positional argument, which is returned. `what` it names is for the message
/// where it is missing: "the directory of a run".
template <typename Config>
std::optional<std::string> read_one_argument(const Command& command, const Arguments& arguments,
                                             Config& config, const char* what) {
  const auto rest = read_arguments(command, arguments, config);
  if (!rest) return std::nullopt;
  if (rest->empty()) throw ConfigError(str("cohort ", command.name, ": name ", what));
  if (rest->size() > 1) refuse_arguments(command, {rest->begin() + 1, rest->end()});
  return rest->front();
}

/// Throws ConfigError naming the flag when a required value is empty.
void require(const std::string& value, const char* flag);

}  // namespace cohort::cli
