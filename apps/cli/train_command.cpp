// cohort train, cohort sft, cohort dpo and cohort reward-train: runs from a recipe.
#include <iostream>

#include "apps/cli/command.h"
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
    if constexpr (requires { recipe.lora; }) {
      const std::string& path = given.recipe.lora.path;
      if (!path.empty()) take_adapter_settings(recipe.lora, path);
    }
  }

  void settle()
    requires std::is_same_v<Config, TrainConfig>
  {
    recipe.objective.loss.loss_type = "none";
  }
};

template <typename Config>
int run_command(const Command& self, const Arguments& arguments,
                int (*run)(const Config&, const ResumeOptions&)) {
  RunArguments<Config> given;
  if (!read_flags(self, arguments, given)) return 0;
  set_threads(given.flags.threads);
  const int code = run(given.recipe, given.flags.resume);
  std::cout << given.recipe.run.dir << std::endl;
  return code;
}

}  // namespace

int train_command(const Command& self, const Arguments& arguments) {
  return run_command<TrainConfig>(self, arguments, run_grpo);
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
