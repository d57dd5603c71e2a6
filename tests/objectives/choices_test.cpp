#include "cohort/objectives/choices.h"

#include <gtest/gtest.h>

#include <set>

#include "cohort/objectives/baseline.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/preference.h"
#include "cohort/objectives/presets.h"
#include "cohort/objectives/ratio_level.h"
#include "cohort/objectives/scale.h"

namespace cohort {
namespace {

struct Line {
  const char* name;
  const char* text;
};

constexpr Line kLines[] = {{"one", "the first"}, {"two", "the second"}};

TEST(Choices, AreWhatAFieldAcceptsAndItsMeaningLists) {
  EXPECT_EQ(one_of_names(kLines).choices, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(list_choices("Which.", kLines), "Which. one: the first; two: the second.");
  EXPECT_EQ(&find_choice(kLines, "two", "key"), &kLines[1]);
  try {
    find_choice(kLines, "three", "key");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("key is three"), std::string::npos);
  }
}

std::vector<std::string> choices_of(const std::string& key) {
  ObjectiveSettings settings;
  for (const Section& part : {settings_of(settings.loss), settings_of(settings.advantages)}) {
    for (const Field& field : part.fields) {
      if (field.name == key) return field.limits.choices;
    }
  }
  return {};
}

template <typename Lines>
void expect_lines_of(const std::string& key, const Lines& lines) {
  EXPECT_EQ(choices_of(key), one_of_names(lines).choices) << key;
  std::set<std::string> names;
  for (const auto& line : lines) EXPECT_TRUE(names.insert(line.name).second) << line.name;
}

TEST(Choices, KeysAcceptTheLinesOfTheirLists) {
  expect_lines_of("surrogate", surrogates());
  expect_lines_of("baseline", baselines());
  expect_lines_of("scale_rewards", scales());
  expect_lines_of("aggregation", aggregations());
  expect_lines_of("kl_estimator", kl_estimators());
  expect_lines_of("credit", credit_rules());
  expect_lines_of("importance_sampling_level", ratio_levels());
  expect_lines_of("importance_sampling_mode", mismatch_modes());
  PreferenceConfig preference;
  EXPECT_EQ(settings_of(preference).fields[1].limits.choices, one_of_names(preference_losses()).choices);
}

TEST(Choices, KeysOfOneLineAreKeysOfTheObjective) {
  ObjectiveSettings settings;
  for (const auto& [key, value] :
       settings_in("pairwise_temperature=3 value_lambda=0.5 token_mean_scope=group "
                   "use_bias_correction_kl=true entropy_share_weight=0.7"))
    set_objective_key(settings, key, value);
  EXPECT_EQ(settings.advantages.baseline_keys.pairwise.temperature, 3.0);
  EXPECT_EQ(settings.advantages.baseline_keys.critic.value_lambda, 0.5);
  EXPECT_EQ(settings.advantages.entropy_shaping.share_weight, 0.7);
  EXPECT_TRUE(settings.loss.aggregation_keys.token_mean.is_of_groups());
  EXPECT_TRUE(settings.loss.kl_keys.k3.use_bias_correction);
}

TEST(Choices, EverySurrogateIsFoundByItsName) {
  std::set<const Surrogate*> found;
  LossConfig config;
  for (const SurrogateLine& line : surrogates()) {
    config.surrogate = line.name;
    EXPECT_TRUE(found.insert(&surrogate_of(config)).second) << line.name;
  }
  config.surrogate = "none";
  EXPECT_THROW(surrogate_of(config), InternalError);
}

TEST(Choices, AnotherConfigsSurrogateHasItsOwnKeys) {
  LossConfig config;
  config.sapo.temperature_pos = 2.0;
  const LossConfig copy = config;
  config.sapo.temperature_pos = 3.0;
  EXPECT_EQ(copy.sapo.temperature_pos, 2.0);
}

}  // namespace
}  // namespace cohort
