#include "cohort/rewards/sandbox_starter.h"

#include <system_error>

#include "cohort/core/error.h"
#include "cohort/core/program_folder.h"

namespace cohort {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(60);

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<std::string> arguments_of(const SandboxOptions& options) {
  std::vector<std::string> arguments;
  for (const std::string& path : options.runtime) {
    arguments.emplace_back("--runtime");
    arguments.push_back(path);
  }
  arguments.insert(arguments.end(), {"--waive", join(options.waived), "--without", join(options.removed)});
  return arguments;
}

}  // namespace

SandboxStarter::SandboxStarter(SandboxOptions options) : options_(std::move(options)) {
  if (options_.program.empty()) options_.program = program_folder() / "cohort-sandboxd";
}

std::unique_ptr<SandboxProcess> SandboxStarter::start(SandboxGreeting& greeting) const {
  auto process = std::make_unique<SandboxProcess>(options_.program, arguments_of(options_));
  const std::optional<std::string> message = process->wait(SandboxProcess::Clock::now() + kStartTimeout);
  const std::optional<SandboxGreeting> read = message ? decode_greeting(*message) : std::nullopt;
  if (!read)
    throw ConfigError(str(options_.program.string(), " ended, or was silent, before its self-test was over"));
  greeting = *read;
  if (!greeting.is_accepted) {
    throw ConfigError(str("the sandbox holds at level ", greeting.level, " only:\n", greeting.explanation,
                          "\nA run may start without a layer when `waive_layers` names it"));
  }
  return process;
}

std::unique_ptr<SandboxProcess> SandboxStarter::start() const {
  SandboxGreeting greeting;
  auto process = start(greeting);
  if (greeting.level != level_ || greeting.limits_memory != limits_memory_) {
    throw ConfigError(str("the sandbox holds at level ", greeting.level, " now, and held at ", level_,
                          " when the run began"));
  }
  return process;
}

std::unique_ptr<SandboxProcess> SandboxStarter::start_first() {
  if (!level_.empty()) return start();
  SandboxGreeting greeting;
  try {
    auto process = start(greeting);
    level_ = greeting.level;
    limits_memory_ = greeting.limits_memory;
    return process;
  } catch (const std::system_error& error) {
    throw ConfigError(str("the sandbox can't be started: ", error.what()));
  }
}

}  // namespace cohort
