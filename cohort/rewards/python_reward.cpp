// Python: a function of the user's with the signature that TRL asks of reward functions. A program of ours,
// apps/python/cohort_reward.py, which the build puts beside the executable, calls it; to Cohort it is a
// `command`.
#include <filesystem>

#include "cohort/rewards/command_reward.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {

std::unique_ptr<Reward> make_python_reward(const RewardConfig& config) {
  const size_t colon = config.function.rfind(':');
  const std::string place = config.function.substr(0, colon);
  if (colon == std::string::npos || place.empty() || colon + 1 == config.function.size()) {
    throw ConfigError(str("reward ", config.name, ": type \"python\" needs `function`, \"FILE.py:NAME\" or ",
                          "\"MODULE:NAME\", and not \"", config.function, "\""));
  }
  if (place.ends_with(".py") && !std::filesystem::is_regular_file(place))
    throw ConfigError(str("reward ", config.name, ": there is no file ", place));
  const std::filesystem::path adapter =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cohort_reward.py";
  if (!std::filesystem::exists(adapter))
    throw ConfigError(
        str("reward ", config.name, ": ", adapter.string(), " is missing; `make build` puts it there"));
  return make_program_reward(config, {"python3", adapter.string(), config.function});
}

}  // namespace cohort
