#include "cohort/objectives/loss_config.h"

#include <gtest/gtest.h>

#include <set>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

TEST(LossConfig, KeysAreUniqueAndDefaultsWithinTheirLimits) {
  LossConfig config;
  const Section section = settings_of(config);
  std::set<std::string> names;
  for (const Field& field : section.fields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.meaning.empty());
    if (const auto* text = std::get_if<std::string*>(&field.value)) {
      EXPECT_TRUE(field.limits.contains(**text)) << field.name;
    }
    if (const auto* number = std::get_if<double*>(&field.value)) {
      EXPECT_TRUE(field.limits.contains(**number)) << field.name;
    }
  }
  EXPECT_GE(names.size(), 58u);
  EXPECT_NO_THROW(check_loss_config(config));
}

TEST(LossConfig, LossTypesOfTrl) {
  LossConfig config;
  config.loss_type = "bnpo";
  config.surrogate = "sapo";
  expand_loss_type(config);
  EXPECT_EQ(config.surrogate, "ppo");
  EXPECT_EQ(config.aggregation, "token_mean");
  EXPECT_EQ(config.aggregation_keys.token_mean.scope, "micro_batch");
  EXPECT_EQ(config.loss_type, "none");
  config.aggregation = "seq_mean_token_sum";
  expand_loss_type(config);
  EXPECT_EQ(config.aggregation, "seq_mean_token_sum");
  config.loss_type = "vespo";
  expand_loss_type(config);
  EXPECT_EQ(config.surrogate, "vespo");
  EXPECT_EQ(config.aggregation_keys.token_mean.scope, "batch");
}

std::string refusal(const LossConfig& config) {
  try {
    check_loss_config(config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LossConfig, WrongCombinationsAreRefused) {
  LossConfig config;
  config.importance_sampling_level = "sequence";
  config.kl_keys.k3.use_bias_correction = true;
  EXPECT_EQ(refusal(config), "");
  config.beta = 0.1;
  EXPECT_NE(refusal(config).find("use_bias_correction_kl"), std::string::npos);
  config.kl_place = "reward";
  EXPECT_EQ(refusal(config), "");

  config = {};
  config.ratio_anchor = "sampler";
  EXPECT_EQ(refusal(config), "");
  config.importance_sampling_mode = "token_mask";
  EXPECT_NE(refusal(config).find("ratio_anchor"), std::string::npos);

  config = {};
  config.surrogate = "gmpo";
  EXPECT_EQ(refusal(config), "");
  config.importance_sampling_level = "sequence";
  EXPECT_NE(refusal(config).find("gmpo"), std::string::npos);

  config = {};
  config.loss_type = "vespo";
  config.importance_sampling_level = "sequence";
  EXPECT_EQ(refusal(config), "");
  config.importance_sampling_mode = "sequence_mask";
  EXPECT_NE(refusal(config).find("vespo"), std::string::npos);
}

TEST(LossConfig, KlAndLengthNeedTheirPartners) {
  LossConfig config;
  config.beta = 0.1;
  config.kl_keys.k3.use_bias_correction = true;
  EXPECT_EQ(refusal(config), "");
  config.kl_estimator = "k2";
  EXPECT_NE(refusal(config).find("k3"), std::string::npos);

  config = {};
  config.loss_type = "dr_grpo";
  EXPECT_NE(refusal(config).find("max_completion_length"), std::string::npos);
  config.max_completion_length = 8;
  EXPECT_EQ(refusal(config), "");
}

}  // namespace
}  // namespace cohort
