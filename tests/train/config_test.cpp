#include <gtest/gtest.h>

#include <concepts>
#include <cstdlib>
#include <functional>

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

template <typename Value>
constexpr bool kIsOptional = false;
template <typename Value>
constexpr bool kIsOptional<std::optional<Value>> = true;

/// Converts to whatever a member is; optionals take it as their value.
struct AnyMember {
  template <typename Value>
    requires(!kIsOptional<Value>)
  operator Value() const;
};

/// The number of members of an aggregate: the longest list of initialisers that it takes.
template <typename Aggregate, typename... Members>
constexpr size_t num_members() {
  if constexpr (requires { Aggregate{Members{}..., AnyMember{}}; }) {
    return num_members<Aggregate, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

/// A base counts as one member of the list of initialisers, and describes its own.
template <typename Config, typename... Bases>
void expect_complete(const char* name) {
  Config config;
  const Section section = settings_of(config);
  EXPECT_EQ(section.fields.size() + section.sections.size() + section.lists.size(),
            num_members<Config>() - sizeof...(Bases) + (num_members<Bases>() + ... + 0))
      << name;
}

TEST(TrainConfig, DescribesEveryMember) {
  static_assert(num_members<RunConfig>() == 1 && num_members<RewardConfig>() == 10);
  expect_complete<TrainConfig>("TrainConfig");
  expect_complete<ModelConfig>("ModelConfig");
  expect_complete<DataConfig, HeldOutRowsConfig, RowsConfig>("DataConfig");
  expect_complete<RolloutConfig, SamplingKeys>("RolloutConfig");
  expect_complete<MonitorConfig>("MonitorConfig");
  expect_complete<CriticConfig>("CriticConfig");
  expect_complete<OptimizerConfig>("OptimizerConfig");
  expect_complete<GrpoLoopConfig, LoopKeys, BalanceKeys, EvaluationKeys>("GrpoLoopConfig");
  expect_complete<RunConfig>("RunConfig");
  expect_complete<SftConfig>("SftConfig");
  expect_complete<SftDataConfig, RowsConfig>("SftDataConfig");
  expect_complete<SftLoopConfig, LoopKeys, BalanceKeys>("SftLoopConfig");
  expect_complete<DpoConfig>("DpoConfig");
  expect_complete<PreferenceConfig>("PreferenceConfig");
  expect_complete<PreferenceDataConfig, HeldOutRowsConfig, RowsConfig>("PreferenceDataConfig");
  expect_complete<DpoLoopConfig, LoopKeys, BalanceKeys, EvaluationKeys>("DpoLoopConfig");
  expect_complete<RewardTrainConfig>("RewardTrainConfig");
  expect_complete<HeadConfig>("HeadConfig");
  expect_complete<RewardDataConfig, HeldOutRowsConfig, RowsConfig>("RewardDataConfig");
  expect_complete<RewardLoopConfig, LoopKeys, EvaluationKeys>("RewardLoopConfig");
}

/// The bytes of a struct whose members are those that it describes; of a surrogate, whose first ones are its
/// virtual functions', by default.
size_t described_bytes(const Section& section, size_t first_bytes = sizeof(void*)) {
  size_t bytes = first_bytes;
  for (const Field& field : section.fields)
    bytes += std::visit([](const auto* value) { return sizeof(*value); }, field.value);
  return (bytes + sizeof(void*) - 1) / sizeof(void*) * sizeof(void*);
}

/// The keys of a struct, of which those of each part count as one member.
template <typename Config, typename... Parts>
size_t num_own_members(Config& config, Parts&... parts) {
  return settings_of(config).fields.size() + sizeof...(Parts) - (settings_of(parts).fields.size() + ... + 0);
}

TEST(TrainConfig, AdvantagesAndBaselinesDescribeEveryMember) {
  AdvantageConfig config;
  EXPECT_EQ(num_own_members(config, config.baseline_keys, config.entropy_shaping),
            num_members<AdvantageConfig>());
  // All but ddof and epsilon, which are the scale's.
  EXPECT_EQ(settings_of(config.entropy_shaping).fields.size() + 2, num_members<EntropyShaping>());
  size_t num_keys = 0;
#define BASELINE(id, Keys, ...)    \
  num_keys += num_members<Keys>(); \
  EXPECT_EQ(settings_of(config.baseline_keys.id).fields.size(), num_members<Keys>()) << #id;
#include "cohort/objectives/baselines.def"
#undef BASELINE
  EXPECT_EQ(settings_of(config.baseline_keys).fields.size(), num_keys);
}

TEST(TrainConfig, AggregationsAndKlEstimatorsDescribeEveryMember) {
  LossConfig config;
  size_t num_keys = 0;
#define AGGREGATION(id, Keys, ...) \
  num_keys += num_members<Keys>(); \
  EXPECT_EQ(settings_of(config.aggregation_keys.id).fields.size(), num_members<Keys>()) << #id;
#include "cohort/objectives/aggregations.def"
#undef AGGREGATION
  EXPECT_EQ(settings_of(config.aggregation_keys).fields.size(), num_keys);
  num_keys = 0;
#define KL_ESTIMATOR(id, Keys, ...) \
  num_keys += num_members<Keys>();  \
  EXPECT_EQ(settings_of(config.kl_keys.id).fields.size(), num_members<Keys>()) << #id;
#include "cohort/objectives/kl_estimators.def"
#undef KL_ESTIMATOR
  EXPECT_EQ(settings_of(config.kl_keys).fields.size(), num_keys);
}

TEST(TrainConfig, LossAndSurrogatesDescribeEveryMember) {
  LossConfig config;
  size_t num_keys = num_own_members(config, config.aggregation_keys, config.kl_keys);
#define SURROGATE(id, Type, words)                        \
  {                                                       \
    const Section own = settings_of(config.id);           \
    EXPECT_EQ(described_bytes(own), sizeof(Type)) << #id; \
    num_keys = num_keys + 1 - own.fields.size();          \
  }
#include "cohort/objectives/surrogates.def"
#undef SURROGATE
  EXPECT_EQ(num_keys, num_members<LossConfig>());
}

TEST(TrainConfig, RewardsDescribeEveryMember) {
  RewardConfig config;
  Section common;
  FieldVisitor visitor(common);
  config.describe_common(visitor);
  EXPECT_EQ(common.fields.size() + 1, num_members<RewardConfig>());  // all but `keys`
  for (const RewardType& type : all_rewards({}))
    EXPECT_EQ(described_bytes(type.maker.own_keys(), 0), type.maker.keys_size) << type.name;
}

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
  EXPECT_NE(error_with({"--monitor.0.metric=kl"}).find("either `above` or `below`"), std::string::npos);
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
