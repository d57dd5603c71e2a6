#include "cohort/train/configuration_page.h"

#include "cohort/core/config_io.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {
namespace {

/// A `[[reward]]` table with the keys of all rewards alone.
Section common_reward_keys(const SectionList& list, RewardConfig& config) {
  Section section{list.name, list.meaning, {}, {}, {}};
  FieldVisitor visitor(section);
  config.describe_common(visitor);
  return section;
}

/// The tables of `cohort train`; the own keys of types of rewards have sections of their own.
std::string train_tables() {
  TrainConfig config;
  RewardConfig reward;
  Section settings = settings_of(config);
  for (SectionList& list : settings.lists) {
    if (list.name == "reward") list.prototype = [&list, &reward] { return common_reward_keys(list, reward); };
  }
  return to_markdown(settings);
}

/// A section for each type: what it scores, and its own keys.
std::string reward_sections() {
  std::string text;
  const RewardTypes types = all_rewards({});
  for (const RewardType& type : types) {
    text += "\n### `type = \"" + type.name + "\"`\n\n" + type.meaning + "\n";
    const Section keys = type.maker.own_keys();
    text += keys.fields.empty() ? "It has no keys of its own.\n" : to_markdown(keys);
  }
  return text;
}

/// Of the policies only the keys that `cohort train` does not have.
std::string adversarial_tables() {
  AdversarialConfig config;
  Section settings = settings_of(config);
  for (Section& section : settings.sections) {
    if (section.name != "attacker" && section.name != "defender") continue;
    section.sections.clear();
    section.lists.clear();
  }
  return "\nEach policy also has the sections `rollout`, `objective` and `optimizer` and the tables "
         "`[[attacker.reward]]` or\n`[[defender.reward]]`, with the keys of `cohort train`. The defender has "
         "`[defender.environment]` and\n`[[defender.tool]]`, too.\n" +
         to_markdown(settings);
}

}  // namespace

std::string configuration_page() {
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
         train_tables() +
         "\n## Types of rewards\n\n"
         "A `[[reward]]` table takes the keys of its type beside those above, and no key of another type.\n" +
         reward_sections() + "\n## `cohort adversarial-train`\n" + adversarial_tables() +
         "\n## `cohort sft`\n" + to_markdown(settings_of(sft)) + "\n## `cohort dpo`\n" +
         to_markdown(settings_of(dpo)) + "\n## `cohort reward-train`\n" +
         to_markdown(settings_of(reward_train));
}

}  // namespace cohort
