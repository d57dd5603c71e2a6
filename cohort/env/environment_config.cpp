#include "cohort/env/environment_config.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/program_folder.h"
#include "cohort/env/guess_number.h"
#include "cohort/env/tool.h"

namespace cohort {
namespace {

/// Checks "FILE.py:NAME" or "MODULE:NAME".
void check_place(const std::string& key, const std::string& place) {
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == place.size())
    throw ConfigError(str(key, " must be \"FILE.py:NAME\" or \"MODULE:NAME\", not \"", place, "\""));
  const std::string file = place.substr(0, colon);
  if (file.ends_with(".py") && !std::filesystem::is_regular_file(file))
    throw ConfigError(str(key, ": there is no file ", file));
}

/// The command that serves the environment and tools that are written in Python, or MCP servers; empty if
/// there are none.
std::vector<std::string> python_command(const EnvironmentConfig& config,
                                        const std::vector<ToolConfig>& tools) {
  std::vector<std::string> places;
  if (!config.python.empty()) {
    check_place("environment.python", config.python);
    places = {"--environment", config.python};
  }
  for (const ToolConfig& tool : tools) {
    if (tool.type == "python") {
      check_place("tool.function", tool.function);
      places.insert(places.end(), {"--tool", tool.function});
    }
    if (tool.type == "mcp") places.insert(places.end(), {"--mcp", Json(tool.command).dump()});
  }
  if (places.empty()) return {};
  const std::filesystem::path server = program_folder() / "cohort_environment.py";
  if (!std::filesystem::exists(server))
    throw ConfigError(str(server.string(), " is missing; `make build` puts it there"));
  std::vector<std::string> command{"python3", server.string()};
  command.insert(command.end(), places.begin(), places.end());
  return command;
}

/// Every program that serves tools or an environment.
std::vector<std::vector<std::string>> commands_of(const EnvironmentConfig& config,
                                                  const std::vector<ToolConfig>& tools) {
  std::vector<std::vector<std::string>> commands;
  if (!config.command.empty()) commands.push_back(config.command);
  for (const ToolConfig& tool : tools) {
    if (tool.type == "command") commands.push_back(tool.command);
  }
  if (auto command = python_command(config, tools); !command.empty()) commands.push_back(std::move(command));
  return commands;
}

void refuse(bool is_wrong, const char* reason) {
  if (is_wrong) throw ConfigError(reason);
}

/// Settings that nothing would heed.
void check_idle(const EnvironmentConfig& config, const std::vector<ToolConfig>& tools) {
  const EnvironmentConfig defaults;
  const bool has_program = !config.python.empty() || !config.command.empty();
  const bool is_none = config.name.empty() && !has_program && tools.empty();
  const bool has_limits = config.max_turns || config.max_tool_calls || config.max_turn_length ||
                          config.timeout_s != defaults.timeout_s || !config.tool_call_format.empty();
  refuse(is_none && has_limits,
         "[environment] has no effect without environment.name, python or command and without a [[tool]]: "
         "add one, or "
         "remove the section");
  refuse(!config.name.empty() && (has_program || !tools.empty()),
         "environment.name is a whole environment: remove environment.python and command and the [[tool]] "
         "tables, or "
         "the name");
  refuse(!config.python.empty() && !config.command.empty(),
         "environment.python and environment.command exclude each other: remove one of them");
  refuse(config.name.empty() && config.wrong_turn_cost != defaults.wrong_turn_cost,
         "environment.wrong_turn_cost has no effect without environment.name = \"guess_number\": remove it");
  for (const ToolConfig& tool : tools) tool.check(config.timeout_s);
}

}  // namespace

void EnvironmentConfig::describe(FieldVisitor& f) {
  f("name", name, "A built-in environment: guess_number, a hidden number that each guess narrows down.",
    one_of({"", "guess_number"}));
  f("python", python,
    "\"FILE.py:FACTORY\" or \"MODULE:FACTORY\": makes the environment of one episode, an object with "
    "reset(**row), "
    "public methods that are tools, and perhaps get_reward(), as TRL's environment_factory does.");
  f("command", command,
    "A program of yours that has the environment and answers JSON lines (docs/environments.md).");
  f("wrong_turn_cost", wrong_turn_cost, "With guess_number: what each wrong turn takes off the reward.",
    between(0.0, 1.0));
  f("workers", workers, "Calls of tools and environments at a time, and Python processes for them.",
    between(1, 1024), OnResume::kTaken);
  f("timeout_s", timeout_s,
    "Seconds for the answer to one turn, the wait for a worker not counted; without one the episode is "
    "masked.",
    above(0.0), OnResume::kTaken);
  f("max_turns", max_turns, "Turns of the policy in an episode, at most.", at_least(1));
  f("max_tool_calls", max_tool_calls,
    "Calls of tools in an episode, at most: a turn that would exceed it is the last, and its calls are not "
    "made.",
    at_least(0));
  f("max_turn_length", max_turn_length,
    "Tokens of one turn, at most: a longer one is cut and ends its episode. rollout.max_completion_length "
    "limits the "
    "whole episode, replies included.",
    at_least(1));
  f("tool_call_format", tool_call_format,
    "How the model writes calls of tools (`cohort verify-tools --help`); empty: as its chat template does.");
}

EpisodeLimits EnvironmentConfig::limits() const {
  EpisodeLimits limits{.timeout_s = timeout_s};
  limits.max_turns = max_turns.value_or(limits.max_turns);
  limits.max_tool_calls = max_tool_calls.value_or(limits.max_tool_calls);
  return limits;
}

std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config,
                                              const std::vector<ToolConfig>& tools) {
  check_idle(config, tools);
  if (config.name == "guess_number") return make_guess_number(config.wrong_turn_cost);
  std::vector<std::unique_ptr<Tool>> built_in;
  for (const ToolConfig& tool : tools) {
    for (std::unique_ptr<Tool>& made : make_tools(tool)) built_in.push_back(std::move(made));
  }
  std::vector<std::unique_ptr<ToolProcesses>> processes;
  for (std::vector<std::string>& command : commands_of(config, tools))
    processes.push_back(
        std::make_unique<ToolProcesses>(std::move(command), config.workers, config.timeout_s));
  if (built_in.empty() && processes.empty()) return nullptr;
  return std::make_unique<ToolEnvironment>(std::move(built_in), std::move(processes), config.workers);
}

}  // namespace cohort
