// Python: a function of the user's with the signature that TRL asks of reward functions. A program of ours,
// apps/python/cohort_reward.py, which the build puts beside the executable, calls it; to Cohort it is a
// `command`.
#include <filesystem>

#include "cohort/core/program_folder.h"
#include "cohort/rewards/command_reward.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct PythonKeys {
  std::string function;
  ProgramKeys program;

  void describe(FieldVisitor& f) {
    f("function", function, "\"FILE.py:NAME\" or \"MODULE:NAME\", called as TRL calls reward functions.");
    program.describe(f);
  }
};

std::unique_ptr<Reward> make_python(const RewardConfig& config, const PythonKeys& keys) {
  const size_t colon = keys.function.rfind(':');
  const std::string place = keys.function.substr(0, colon);
  if (colon == std::string::npos || place.empty() || colon + 1 == keys.function.size()) {
    throw ConfigError(str("reward ", config.name, ": type \"python\" needs `function`, \"FILE.py:NAME\" or ",
                          "\"MODULE:NAME\", and not \"", keys.function, "\""));
  }
  if (place.ends_with(".py") && !std::filesystem::is_regular_file(place))
    throw ConfigError(str("reward ", config.name, ": there is no file ", place));
  const std::filesystem::path adapter = program_folder() / "cohort_reward.py";
  if (!std::filesystem::exists(adapter))
    throw ConfigError(
        str("reward ", config.name, ": ", adapter.string(), " is missing; `make build` puts it there"));
  return make_program_reward(config.name, keys.program, {"python3", adapter.string(), keys.function});
}

}  // namespace

RewardMaker python_reward() { return reward_maker<PythonKeys>(make_python); }

}  // namespace cohort
