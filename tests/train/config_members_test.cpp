// Every member of a struct of settings is a key that it describes.
#include <gtest/gtest.h>

#include <concepts>

#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/supervised/sft_config.h"

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

/// A base, or a member whose keys stand beside the others, counts as one member of the list of initialisers,
/// and describes its own.
template <typename Config, typename... Bases>
void expect_complete(const char* name) {
  Config config;
  const Section section = settings_of(config);
  EXPECT_EQ(section.fields.size() + section.sections.size() + section.lists.size(),
            num_members<Config>() - sizeof...(Bases) + (num_members<Bases>() + ... + 0))
      << name;
}

TEST(ConfigMembers, DescribesEveryMember) {
  static_assert(num_members<RunConfig>() == 1 && num_members<RewardConfig>() == 11);
  expect_complete<TrainConfig>("TrainConfig");
  expect_complete<ModelConfig>("ModelConfig");
  expect_complete<DataConfig, HeldOutRowsConfig, RowsConfig>("DataConfig");
  expect_complete<RolloutConfig, SamplingKeys, TreeShape>("RolloutConfig");
  expect_complete<MonitorConfig>("MonitorConfig");
  expect_complete<CriticConfig>("CriticConfig");
  expect_complete<DistConfig>("DistConfig");
  expect_complete<OptimizerConfig>("OptimizerConfig");
  expect_complete<GrpoLoopConfig, LoopKeys, BalanceKeys, EvaluationKeys>("GrpoLoopConfig");
  expect_complete<RunConfig>("RunConfig");
  expect_complete<EnvironmentConfig>("EnvironmentConfig");
  expect_complete<ToolConfig>("ToolConfig");
  expect_complete<AdversarialConfig>("AdversarialConfig");
  expect_complete<AdversarialLoopConfig, LoopKeys>("AdversarialLoopConfig");
  expect_complete<SftConfig>("SftConfig");
  expect_complete<SftDataConfig, HeldOutRowsConfig, RowsConfig, LengthKey>("SftDataConfig");
  expect_complete<SftLoopConfig, LoopKeys, BalanceKeys, EvaluationKeys>("SftLoopConfig");
  expect_complete<DpoConfig>("DpoConfig");
  expect_complete<PreferenceConfig>("PreferenceConfig");
  expect_complete<PreferenceDataConfig, HeldOutRowsConfig, RowsConfig, LengthKey>("PreferenceDataConfig");
  expect_complete<DpoLoopConfig, LoopKeys, BalanceKeys, EvaluationKeys>("DpoLoopConfig");
  expect_complete<RewardTrainConfig>("RewardTrainConfig");
  expect_complete<HeadConfig>("HeadConfig");
  expect_complete<RewardDataConfig, HeldOutRowsConfig, RowsConfig, LengthKey>("RewardDataConfig");
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

TEST(ConfigMembers, AdvantagesAndBaselinesDescribeEveryMember) {
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

TEST(ConfigMembers, AggregationsAndKlEstimatorsDescribeEveryMember) {
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

TEST(ConfigMembers, LossAndSurrogatesDescribeEveryMember) {
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

TEST(ConfigMembers, RewardsDescribeEveryMember) {
  RewardConfig config;
  Section common;
  FieldVisitor visitor(common);
  config.describe_common(visitor);
  EXPECT_EQ(common.fields.size() + 1, num_members<RewardConfig>());  // all but `keys`
  for (const RewardType& type : all_rewards({}))
    EXPECT_EQ(described_bytes(type.maker.own_keys(), 0), type.maker.keys_size) << type.name;
}

}  // namespace
}  // namespace cohort
