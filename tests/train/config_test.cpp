#include <gtest/gtest.h>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/configuration_page.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/supervised/sft_config.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

/// What the types that have a key must agree on, since a `[[reward]]` table holds it once.
std::string agreement_of(const Field& field) {
  FieldTable table;
  const Field kept = field_in(table, field);
  return str(type_name(field), " ", value_text(kept), " ", field.limits.describe(), " ",
             static_cast<int>(field.on_resume));
}

TEST(TrainConfig, RewardsTakeTheKeysOfAllTypesFlat) {
  RewardConfig config;
  std::map<std::string, std::string> agreements;
  for (const Field& field : settings_of(config).fields)
    EXPECT_TRUE(agreements.emplace(field.name, agreement_of(field)).second) << field.name << " comes twice";
  for (const RewardType& type : all_rewards({})) {
    for (const Field& field : type.maker.own_keys().fields)
      EXPECT_EQ(agreements[field.name], agreement_of(field)) << type.name << "." << field.name;
  }
}

TEST(TrainConfig, RewardsReadWhatTheirTableGives) {
  TrainConfig config;
  apply_toml_text(settings_of(config),
                  "[[reward]]\nname = 'a'\ntimeout_s = 3\nworkers = 2\ntags = 'x'\npath = 'm'", "r.toml");
  apply_flags(settings_of(config), {"--reward.0.all_tests", "--reward.0.workers=4"});
  const FieldTable& keys = config.reward.at(0).keys;
  EXPECT_EQ(value_in<std::optional<double>>(keys, "timeout_s"), 3.0);
  EXPECT_EQ(value_in<double>(keys, "timeout_s"), 3.0);
  EXPECT_EQ(value_in<int64_t>(keys, "workers"), 4);
  EXPECT_EQ(value_in<int64_t>(keys, "batch_size"), 0);  // unset
  EXPECT_EQ(value_in<std::vector<std::string>>(keys, "tags"), std::vector<std::string>{"x"});
  EXPECT_TRUE(value_in<bool>(keys, "all_tests"));
  EXPECT_THROW(value_in<int64_t>(keys, "path"), InternalError);
}

// DPOConfig of TRL 1.16.
TEST(DpoConfig, HasTrlsDefaults) {
  const DpoConfig config;
  EXPECT_EQ(config.objective.beta, 0.1);
  EXPECT_EQ(config.objective.loss_type, "sigmoid");
  EXPECT_EQ(config.objective.label_smoothing, 0.0);
  EXPECT_FALSE(config.objective.ld_alpha);
  EXPECT_FALSE(config.train.precompute_ref_log_probs);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-6);
}

// GRPOConfig of TRL 1.16 with the TrainingArguments below it.
TEST(TrainConfig, HasTrlsDefaults) {
  const TrainConfig config;
  EXPECT_EQ(config.rollout.num_generations, 8);
  EXPECT_EQ(config.rollout.max_completion_length, 512);
  EXPECT_EQ(config.rollout.temperature, 1.0);
  EXPECT_EQ(config.rollout.top_k, 0);
  EXPECT_EQ(config.rollout.top_p, 1.0);
  EXPECT_EQ(config.objective.preset, "grpo");
  EXPECT_EQ(config.objective.loss.aggregation, "seq_mean_token_mean");
  EXPECT_EQ(config.objective.advantages.scale_rewards, "group");
  EXPECT_EQ(config.objective.loss.beta, 0.0);
  EXPECT_EQ(config.objective.loss.epsilon, 0.2);
  EXPECT_FALSE(config.objective.loss.epsilon_high.has_value());
  EXPECT_EQ(config.objective.num_iterations, 1);
  EXPECT_FALSE(config.objective.mask_truncated_completions);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-6);
  EXPECT_EQ(config.optimizer.lr_scheduler_type, "linear");
  EXPECT_EQ(config.optimizer.weight_decay, 0.0);
  EXPECT_EQ(config.optimizer.adam_beta1, 0.9);
  EXPECT_EQ(config.optimizer.adam_beta2, 0.999);
  EXPECT_EQ(config.optimizer.adam_epsilon, 1e-8);
  EXPECT_EQ(config.optimizer.max_grad_norm, 1.0);
  EXPECT_EQ(config.seed, 42);
}

/// The recipe of the README.
constexpr const char* kRecipe = R"(
seed = 1
[model]
path = "models/start"
[data]
path = "train.jsonl"
[rollout]
prompts_per_step = 16
num_generations = 16
max_completion_length = 96
[[reward]]
name = "countdown"
weight = 1.0
[objective]
loss_type = "grpo"
[optimizer]
learning_rate = 1e-4
[train]
max_steps = 100
[run]
dir = "runs/first"
)";

TrainConfig recipe_with(const std::vector<std::string>& flags) {
  TrainConfig config;
  const Section settings = settings_of(config);
  apply_toml_text(settings, kRecipe, "recipe.toml");
  apply_flags(settings, flags);
  return config;
}

std::string error_with(const std::vector<std::string>& flags) {
  return message_of<ConfigError>([&] { validate(recipe_with(flags)); });
}

TEST(Recipe, IsReadAndValid) {
  const TrainConfig config =
      recipe_with({"--learning-rate", "1e-5", "--run-dir", "runs/second", "--max-steps=7"});
  EXPECT_NO_THROW(validate(config));
  EXPECT_EQ(config.rollout.num_generations, 16);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-5);
  EXPECT_EQ(config.run.dir, "runs/second");
  EXPECT_EQ(config.train.max_steps, 7);
  EXPECT_EQ(config.reward.at(0).name, "countdown");
}

TEST(Recipe, SurvivesItsDump) {
  TrainConfig config = recipe_with({"--epsilon-high", "0.28", "--stop-strings", "</answer>"});
  const std::string text = to_toml(settings_of(config));
  TrainConfig read;
  apply_toml_text(settings_of(read), text, "config.toml");
  EXPECT_EQ(to_toml(settings_of(read)), text);
  EXPECT_EQ(read.objective.loss.epsilon_high, 0.28);
}

TEST(Recipe, RefusesWhatContradictsItself) {
  EXPECT_NE(error_with({"--model-path", ""}).find("model.path is not set"), std::string::npos);
  EXPECT_NE(error_with({"--data-path", ""}).find("data.path is not set"), std::string::npos);
  EXPECT_NE(error_with({"--run-dir", ""}).find("run.dir is not set"), std::string::npos);
  EXPECT_NE(error_with({"--eval-steps", "5"}).find("data.eval_path"), std::string::npos);
  EXPECT_NE(error_with({"--eval-path", "e.jsonl"}).find("has no effect"), std::string::npos);
  EXPECT_NE(error_with({"--num-generations-eval", "4"}).find("has no effect"), std::string::npos);
  EXPECT_NE(error_with({"--steps-per-generation", "3"}).find("multiple"), std::string::npos);
  EXPECT_NE(error_with({"--reward.1.name", "countdown"}).find("two rewards"), std::string::npos);
  EXPECT_NE(error_with({"--reward.0.name", ""}).find("reward.name"), std::string::npos);
  EXPECT_NO_THROW(validate(recipe_with({"--eval-steps=5", "--eval-path=e", "--steps-per-generation=4"})));
  TrainConfig config = recipe_with({});
  config.train.max_steps.reset();
  EXPECT_THROW(validate(config), ConfigError);
  config.train.num_train_epochs = 1.0;
  EXPECT_NO_THROW(validate(config));
  config.reward.clear();
  EXPECT_THROW(validate(config), ConfigError);
}

TEST(Recipe, AGroupOfOneNeedsABaselineOfItsOwn) {
  EXPECT_NE(error_with({"--num-generations=1"}).find("objective.baseline = \"group_mean\""),
            std::string::npos);
  EXPECT_NE(error_with({"--num-generations=1", "--baseline=group_loo"}).find("no other to be judged against"),
            std::string::npos);
  EXPECT_NE(error_with({"--num-generations=1", "--baseline=none"}).find("scale_rewards = \"group\""),
            std::string::npos);
  for (const char* baseline : {"none", "batch_mean", "greedy"}) {
    EXPECT_NO_THROW(
        validate(recipe_with({"--num-generations=1", str("--baseline=", baseline), "--scale-rewards=none"})))
        << baseline;
  }
}

TEST(Recipe, RefusesMeansOverMicroBatches) {
  EXPECT_NE(error_with({"--loss-type=bnpo"}).find("loss_type = \"dapo\""), std::string::npos);
}

TEST(Recipe, WatchesItsRewards) {
  const TrainConfig config = recipe_with({"--reward.0.weight_at", "1=0", "--reward.0.weight_at", "50=1",
                                          "--monitor.0.metric=kl", "--monitor.0.above=0.5"});
  EXPECT_NO_THROW(validate(config));
  EXPECT_EQ(config.reward.at(0).weight_at, (std::map<std::string, double>{{"1", 0.0}, {"50", 1.0}}));
  EXPECT_EQ(config.monitor.at(0).window, 10);
  EXPECT_EQ(config.monitor.at(0).action, "warn");
  EXPECT_EQ(config.train.max_sandbox_error_share, 0.01);
  EXPECT_EQ(config.train.max_failed_share, 0.5);
  TrainConfig table;
  apply_toml_text(settings_of(table), "[[reward]]\nname = 'x'\nweight_at = {1 = 0, 100 = 0.5}", "r.toml");
  EXPECT_EQ(table.reward.at(0).weight_at, (std::map<std::string, double>{{"1", 0.0}, {"100", 0.5}}));

  EXPECT_NE(error_with({"--reward.0.weight=0"}).find("nothing would be learnt"), std::string::npos);
  EXPECT_NE(error_with({"--reward.0.weight_at", "1=0"}).find("nothing would be learnt"), std::string::npos);
  EXPECT_NE(error_with({"--monitor.0.metric=kl"}).find("one of `above`, `below` and `drop`"),
            std::string::npos);
  for (const char* flag : {"--max-sandbox-error-share=1.1", "--max-failed-share=-0.1",
                           "--failed-share-window=0", "--monitor.0.window=0", "--monitor.0.action=pray"})
    EXPECT_THROW(recipe_with({flag}), ConfigError) << flag;
}

TEST(Recipe, RefusesValuesOutOfRange) {
  const std::vector<std::string> wrong = {
      "--num-generations=0", "--temperature=0",   "--top-p=0",         "--top-p=1.1",
      "--min-p=-0.1",        "--top-k=-1",        "--loss-type=ppo",   "--beta=-1",
      "--dtype=int8",        "--max-steps=0",     "--adam-beta1=1",    "--learning-rate=-1",
      "--device=tpu",        "--seed=-1",         "--epsilon=-0.1",    "--save-total-limit=0",
      "--cache-tokens=-1",   "--warmup-steps=-1", "--num-iterations=0"};
  for (const std::string& flag : wrong) EXPECT_THROW(recipe_with({flag}), ConfigError) << flag;
}

TEST(SftRecipe, NeedsModelDataAndLength) {
  SftConfig config;
  EXPECT_EQ(config.optimizer.learning_rate, 2e-5);
  const Section settings = settings_of(config);
  apply_flags(settings, {"--model-path=m", "--data-path=d", "--run-dir=r"});
  EXPECT_THROW(validate(config), ConfigError);
  apply_flags(settings, {"--num-train-epochs=2"});
  EXPECT_NO_THROW(validate(config));
}

// To make it anew: `build/cohort docs configuration > docs/configuration.md`.
TEST(ConfigurationPage, IsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(COHORT_SOURCE_DIR) / "docs" / "configuration.md";
  EXPECT_TRUE(read_text(path) == configuration_page())
      << "docs/configuration.md is stale: build/cohort docs configuration > docs/configuration.md";
}

}  // namespace
}  // namespace cohort
