#include "cohort/train/configuration_page.h"

#include "cohort/core/config_io.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {
namespace {

std::string reward_table() {
  std::string text = "| type | keys | score |\n|---|---|---|\n";
  for (const RewardType& type : all_rewards({})) {
    std::string keys;
    for (const char letter : type.keys) keys += letter == ' ' ? std::string("`, `") : std::string(1, letter);
    text +=
        "| `" + type.name + "` | " + (keys.empty() ? "" : "`" + keys + "`") + " | " + type.meaning + " |\n";
  }
  return text;
}

}  // namespace

std::string configuration_page() {
  TrainConfig train;
  SftConfig sft;
  DpoConfig dpo;
  RewardTrainConfig reward_train;
  return "# Configuration\n\n"
         "Made by `cohort docs configuration` from the `describe` functions beside each config struct: "
         "change it "
         "there.\n\n"
         "Settings come from defaults, then TOML files in order, then flags. A flag is the dotted key\n"
         "(`--optimizer.learning_rate 1e-5`), the key with underscores or dashes (`--run-dir DIR`) or, when "
         "unique, its\n"
         "last part (`--learning-rate 1e-5`). `--reward.0.weight 2` speaks of the first `[[reward]]`; a "
         "`[[reward]]` in a\n"
         "later file replaces all earlier ones. A flag of a list is given once for each element; in TOML a "
         "string "
         "stands for\n"
         "a list of one. A flag of a table is given once for each pair (`--columns prompt=question`). A last "
         "part "
         "that other tools\n"
         "use for another key is refused: `--lr` could mean `optimizer.learning_rate` or `critic.lr`.\n\n"
         "## `cohort train`\n" +
         to_markdown(settings_of(train)) + "\n## Types of rewards\n\n" + reward_table() +
         "\n## `cohort sft`\n" + to_markdown(settings_of(sft)) + "\n## `cohort dpo`\n" +
         to_markdown(settings_of(dpo)) + "\n## `cohort reward-train`\n" +
         to_markdown(settings_of(reward_train));
}

}  // namespace cohort
