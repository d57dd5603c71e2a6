// cohort train, adversarial-train, sft, dpo and reward-train: runs from a recipe.
#include <ATen/Parallel.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/python_package.h"
#include "cohort/core/program_folder.h"
#include "cohort/dist/place.h"
#include "cohort/train/adversarial/adversarial_run.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/preference/dpo_run.h"
#include "cohort/train/reward/reward_run.h"
#include "cohort/train/run/lora_start.h"
#include "cohort/train/supervised/sft_run.h"

namespace cohort::cli {
namespace {

/// What the flags of a run hold besides the recipe.
struct RunFlags {
  ResumeOptions resume;
  int64_t threads = 0;
};

template <typename Config>
struct RunArguments {
  RunFlags flags;
  Config recipe;

  void describe(FieldVisitor& f) {
    f("resume", flags.resume.resume,
      "Continue the run in run.dir from its newest checkpoint; docs/runs.md says which settings may change.");
    f("accept_changed", flags.resume.accept_changed,
      "With `resume`: a key or section whose new value is taken although it changes results, `data` for rows "
      "that were edited; given once for each.");
    f("threads", flags.threads, "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores.",
      at_least(0));
    recipe.describe(f);
  }

  /// A preset comes before what is read, and so do what a loss_type stands for and an adapter's settings.
  void prepare(const RunArguments& given) {
    if constexpr (std::is_same_v<Config, TrainConfig>) recipe.apply_preset(given.recipe);
    if constexpr (requires { recipe.apply_presets(given.recipe); }) {
      recipe.apply_presets(given.recipe);
    } else if constexpr (requires { recipe.lora; }) {
      const std::string& path = given.recipe.lora.path;
      if (!path.empty()) take_adapter_settings(recipe.lora, path);
    }
  }

  void settle()
    requires std::is_same_v<Config, TrainConfig>
  {
    recipe.objective.loss.loss_type = "none";
  }

  void settle()
    requires std::is_same_v<Config, AdversarialConfig>
  {
    recipe.attacker.recipe.objective.loss.loss_type = "none";
    recipe.defender.recipe.objective.loss.loss_type = "none";
  }
};

template <typename Config>
int run_command(const Command& self, const Arguments& arguments,
                int (*run)(const Config&, const ResumeOptions&)) {
  RunArguments<Config> given;
  if (!read_flags(self, arguments, given)) return 0;
  const dist::Place place = dist::place_of_process();
  if (place.size > 1 && !std::is_same_v<Config, TrainConfig>) {
    throw ConfigError(str("cohort ", self.name, " runs as one process, and ", place.launcher, " started ",
                          place.size, ": cohort train alone shares a run"));
  }
  set_threads(given.flags.threads);
  const int code = run(given.recipe, given.flags.resume);
  if (place.rank == 0) std::cout << given.recipe.run.dir << std::endl;
  return code;
}

/// A file without a place in the file system, which a program that this one becomes can read.
std::string unnamed_file(const std::string& text) {
  const int descriptor = memfd_create("recipe", 0);
  const auto size = static_cast<ssize_t>(text.size());
  if (descriptor < 0 || write(descriptor, text.data(), text.size()) != size)
    throw UserError("no memory for a copy of the recipe");
  return str("/proc/self/fd/", descriptor);
}

/// Becomes a Python process that makes the same run, where the recipe names functions of Python.
[[noreturn]] void run_grpo_in_python(TrainConfig config, const ResumeOptions& options) {
  Arguments command{"train", unnamed_file(to_toml(settings_of(config))), "--threads",
                    str(at::get_num_threads()), "--output-dir=" + config.run.dir};
  if (!config.objective.python.empty()) command.push_back("--loss=" + config.objective.python);
  if (!config.objective.python_advantages.empty())
    command.push_back("--advantages=" + config.objective.python_advantages);
  if (options.resume) command.emplace_back("--resume");
  for (const std::string& key : options.accept_changed) command.push_back("--accept-changed=" + key);
  setenv(kProgramFolder, program_folder().c_str(), 1);
  run_python_package(command);
}

int run_train(const TrainConfig& config, const ResumeOptions& options) {
  const ObjectiveConfig& objective = config.objective;
  if (!objective.python.empty() || !objective.python_advantages.empty()) run_grpo_in_python(config, options);
  return run_grpo(config, options);
}

}  // namespace

int train_command(const Command& self, const Arguments& arguments) {
  return run_command<TrainConfig>(self, arguments, run_train);
}

int adversarial_train_command(const Command& self, const Arguments& arguments) {
  return run_command<AdversarialConfig>(self, arguments, run_adversarial);
}

int sft_command(const Command& self, const Arguments& arguments) {
  return run_command<SftConfig>(self, arguments, run_sft);
}

int dpo_command(const Command& self, const Arguments& arguments) {
  return run_command<DpoConfig>(self, arguments, run_dpo);
}

int reward_train_command(const Command& self, const Arguments& arguments) {
  return run_command<RewardTrainConfig>(self, arguments, run_reward_train);
}

}  // namespace cohort::cli
