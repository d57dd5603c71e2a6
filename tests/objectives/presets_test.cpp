// Presets: that all are there, that each can be computed, and what is said of compositions.
#include "cohort/objectives/presets.h"

#include <gtest/gtest.h>

#include <set>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/objectives/objective_advice.h"
#include "cohort/objectives/preset_text.h"

namespace cohort {
namespace {

ObjectiveSettings with(const char* preset, const std::vector<std::pair<const char*, const char*>>& keys) {
  ObjectiveSettings settings = settings_of_preset(preset);
  for (const auto& [key, value] : keys) set_objective_key(settings, key, value);
  if (settings.loss.max_completion_length == 0) settings.loss.max_completion_length = 100;
  return settings;
}

/// Whether some warning about the composition holds `words`.
bool warns(const char* preset, const std::vector<std::pair<const char*, const char*>>& keys,
           const std::string& words) {
  for (const std::string& warning : check_objective(with(preset, keys))) {
    if (warning.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(Presets, AreAllThere) {
  std::string names;
  for (const Preset& preset : presets()) names += str(preset.name, " ");
  EXPECT_EQ(
      names,
      "grpo grpo_process gigpo axpo treepo dr_grpo dapo gspo gspo_token luspo gmpo cispo sapo vespo dppo "
      "drpo drpo_decoupled gfpo lambda_grpo gtpo grpo_s edge_grpo mo_grpo gdpo pow3r tic_grpo "
      "two_grpo rloo reinforce reinforce_pp reinforce_pp_baseline remax ppo vapo opo bnpo "
      "mc_grpo lite_ppo gpg pass_at_k kimi_k2 v3_2 lam_po luffy hybrid_dpo deepseek_math "
      "r1_zero dapo_paper v3_2_math ");
}

TEST(Presets, SetOnlyWhatDiffersFromTheDefaults) {
  const std::set<std::string> said_all_the_same{"lambda_grpo", "dppo", "hybrid_dpo",
                                                "gfpo",        "vapo", "v3_2_math"};
  for (const Preset& preset : presets()) {
    const std::string evidence = preset.evidence;
    EXPECT_TRUE(evidence == "paper" || evidence == "reconstructed") << preset.name;
    EXPECT_NE(*preset.composition, '\0') << preset.name;
    if (said_all_the_same.contains(preset.name)) continue;
    for (const auto& [key, value] : settings_in(preset.settings)) {
      ObjectiveSettings defaults;
      ObjectiveSettings changed;
      set_objective_key(changed, key, value);
      EXPECT_NE(to_toml(settings_of(defaults.loss)) + to_toml(settings_of(defaults.advantages)),
                to_toml(settings_of(changed.loss)) + to_toml(settings_of(changed.advantages)))
          << preset.name << " " << key;
    }
  }
}

TEST(Presets, AreCompositionsThatCanBeComputed) {
  for (const Preset& preset : presets()) {
    EXPECT_NO_THROW(check_objective(with(preset.name, {}))) << preset.name;
    const ObjectiveSettings settings = settings_of_preset(preset.name);
    const bool is_whole_run =
        std::string(preset.name) == "deepseek_math" || std::string(preset.name) == "r1_zero";
    EXPECT_EQ(settings.loss.beta != 0.0, is_whole_run) << preset.name;
    EXPECT_EQ(settings.loss.entropy_coef, 0.0) << preset.name;
  }
}

TEST(Presets, ValuesOfTheirPapers) {
  EXPECT_EQ(settings_of_preset("dapo").loss.upper_epsilon(), 0.28);
  EXPECT_EQ(settings_of_preset("gspo").loss.epsilon, 3e-4);
  EXPECT_EQ(settings_of_preset("cispo").loss.upper_epsilon(), 5.0);
  EXPECT_EQ(settings_of_preset("mc_grpo").advantages.scale_epsilon, 1e-3);
  EXPECT_EQ(settings_of_preset("two_grpo").advantages.scale_ddof, 0);
  EXPECT_EQ(settings_of_preset("vapo").advantages.baseline_keys.critic.value_lambda, 1.0);
  EXPECT_EQ(settings_of_preset("deepseek_math").loss.beta, 0.04);
  EXPECT_TRUE(settings_of_preset("v3_2").loss.kl_keys.k3.use_bias_correction);
  EXPECT_EQ(settings_of_preset("v3_2").advantages.scale_rewards, "none");
}

TEST(Presets, AKeyThatIsSetOverridesThem) {
  const ObjectiveSettings settings =
      with("dapo", {{"epsilon_high", "0.5"}, {"beta", "0.1"}, {"kl_place", "reward"}});
  EXPECT_EQ(settings.loss.upper_epsilon(), 0.5);
  EXPECT_EQ(settings.loss.aggregation, "token_mean");
  // Keys that both parts have hold one value.
  EXPECT_EQ(settings.loss.beta, 0.1);
  EXPECT_EQ(settings.advantages.beta, 0.1);
  EXPECT_TRUE(settings.advantages.puts_kl_in_reward());
}

TEST(Presets, UnknownNamesAndKeysAreRefused) {
  try {
    find_preset("drgrpo");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("dr_grpo"), std::string::npos);
  }
  ObjectiveSettings settings;
  try {
    set_objective_key(settings, "base_line", "none");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos);
  }
  EXPECT_THROW(set_objective_key(settings, "baseline", "mean"), ConfigError);
  EXPECT_THROW(set_objective_key(settings, "gamma", "1.5"), ConfigError);
  EXPECT_THROW(set_objective_key(settings, "gamma", "high"), ConfigError);
}

TEST(Presets, WrongCompositionsAreRefused) {
  const auto refused = [](const char* preset, const std::vector<std::pair<const char*, const char*>>& keys) {
    EXPECT_THROW(check_objective(with(preset, keys)), ConfigError) << preset << " " << keys.front().first;
  };
  refused("v3_2", {{"importance_sampling_level", "sequence"}, {"beta", "0.1"}});
  refused("dppo", {{"importance_sampling_mode", "token_truncate"}});
  refused("vespo", {{"importance_sampling_mode", "sequence_mask"}});
  refused("kimi_k2", {{"credit", "token_returns"}, {"gamma", "0.9"}});
  refused("ppo", {{"kl_place", "loss"}, {"kl_estimator", "k1"}, {"beta", "0.1"}});
  refused("drpo_decoupled", {{"importance_sampling_mode", "token_mask"}});
  refused("grpo", {{"credit", "gae"}});
}

TEST(Presets, DoubtfulCompositionsAreWarnedOf) {
  EXPECT_TRUE(check_objective(with("grpo", {})).empty());
  EXPECT_TRUE(check_objective(with("dapo", {})).empty());
  EXPECT_TRUE(check_objective(with("gspo", {})).empty());
  EXPECT_TRUE(warns("gspo", {{"credit", "gtpo"}}, "sequence_token"));
  EXPECT_FALSE(warns("gspo_token", {{"credit", "gtpo"}}, "sequence_token"));
  EXPECT_TRUE(warns("gspo", {{"epsilon", "0.2"}}, "3e-4"));
  EXPECT_TRUE(warns("grpo", {{"epsilon", "3e-4"}}, "nearly all are clipped"));
  EXPECT_TRUE(warns("tic_grpo", {}, "grows or vanishes"));
  EXPECT_TRUE(warns("gspo", {{"aggregation", "token_mean"}}, "by its length"));
  EXPECT_TRUE(warns("gspo", {{"loss_type", "dapo"}}, "by its length"));
  EXPECT_TRUE(warns("cispo", {{"epsilon_high", "0.28"}}, "cap itself"));
  EXPECT_TRUE(warns("drpo", {}, "0.92"));
  EXPECT_FALSE(warns("drpo", {{"drpo_delta", "0.5"}}, "drpo_delta"));
  EXPECT_TRUE(warns("grpo", {{"importance_sampling_mode", "sequence_mask"}}, "the longer"));
  EXPECT_TRUE(warns("grpo", {{"kl_estimator", "k1"}, {"beta", "0.1"}}, "restrains nothing"));
  EXPECT_TRUE(warns("v3_2", {{"kl_place", "reward"}, {"beta", "0.1"}}, "does nothing"));
  EXPECT_TRUE(warns("mc_grpo", {}, "deviation is 0"));
  EXPECT_TRUE(warns("gtpo", {{"entropy_statistics", "signs"}}, "is lost"));
  EXPECT_TRUE(warns("ppo", {}, "value_coef is 0"));
  EXPECT_FALSE(warns("ppo", {{"value_coef", "0.1"}}, "value_coef"));
  EXPECT_TRUE(warns("kimi_k2", {{"scale_rewards", "group"}}, "minus their mean"));
  EXPECT_TRUE(warns("grpo", {{"length_preference", "-0.5"}}, "mean over tokens"));
  EXPECT_TRUE(warns("grpo", {{"gamma", "0.9"}}, "discounts nothing"));
  EXPECT_FALSE(warns("reinforce_pp", {{"gamma", "0.9"}}, "discounts nothing"));
  EXPECT_TRUE(warns("hybrid_dpo", {}, "no pair is left"));
  EXPECT_FALSE(warns("hybrid_dpo", {{"dpo_margin", "0"}}, "no pair is left"));
  EXPECT_TRUE(warns("remax", {{"scale_rewards", "group"}}, "baseline greedy"));
}

TEST(Presets, CostsAreThoseOfTheComposition) {
  EXPECT_TRUE(objective_costs(settings_of_preset("grpo")).empty());
  EXPECT_TRUE(objective_costs(settings_of_preset("dapo")).empty());
  EXPECT_EQ(objective_costs(settings_of_preset("deepseek_math")).size(), 1u);  // the reference
  EXPECT_EQ(objective_costs(settings_of_preset("gspo")).size(), 1u);           // a whole completion
  EXPECT_EQ(objective_costs(settings_of_preset("ppo")).size(), 1u);            // the critic
  EXPECT_EQ(objective_costs(settings_of_preset("remax")).size(), 1u);          // the greedy completion
  EXPECT_EQ(objective_costs(settings_of_preset("grpo_s")).size(), 2u);  // entropies, a whole completion
}

TEST(Presets, TextsNameEveryPreset) {
  const std::string all = presets_text();
  for (const Preset& preset : presets()) {
    EXPECT_NE(all.find(std::string(preset.name) + "  ("), std::string::npos) << preset.name;
    const std::string one = preset_text(preset.name);
    EXPECT_NE(one.find(preset.paper), std::string::npos) << preset.name;
    for (const auto& [key, value] : settings_in(preset.settings)) {
      EXPECT_NE(one.find(key + " = " + value), std::string::npos) << preset.name << " " << key;
    }
  }
  EXPECT_NE(preset_text("gtpo").find("reconstructed"), std::string::npos);
  EXPECT_EQ(preset_text("gspo").find("reconstructed"), std::string::npos);
  // Advice is on what a run of it sets.
  EXPECT_EQ(preset_text("ppo").find("value_coef is 0"), std::string::npos);
  EXPECT_NE(preset_text("mc_grpo").find("deviation is 0"), std::string::npos);
  EXPECT_THROW(preset_text("grop"), ConfigError);
}

}  // namespace
}  // namespace cohort
