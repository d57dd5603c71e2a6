#include "cohort/train/grpo/coefficients.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

LossResult update_with_entropy(double entropy) {
  LossResult loss;
  loss.num_forwarded_tokens = 10;
  loss.objective.add_mean("bonus_entropy", 10.0 * entropy, 10.0);
  return loss;
}

Prompt prompt_of(const char* domain) {
  Prompt prompt;
  prompt.fields["domain"] = domain;
  return prompt;
}

double metric(const Coefficients& coefficients, const char* name) {
  for (const auto& [key, value] : coefficients.metrics()) {
    if (key == name) return value;
  }
  return std::nan("");
}

// The order of GRPOTrainer._compute_loss of TRL 1.16: a coefficient acts where the update before had an
// entropy of at most the target, and moves after each update.
TEST(Coefficients, EntropysFollowsItsTarget) {
  ObjectiveConfig config;
  config.loss.entropy_coef = 0.01;
  config.control = {.use_adaptive_entropy = true,
                    .entropy_coef_min = 0.004,
                    .entropy_coef_max = 0.02,
                    .entropy_coef_delta = 0.008,
                    .entropy_target = 0.5};
  Coefficients coefficients(config);
  EXPECT_EQ(coefficients.of_update().entropy_coef, 0.0);  // no update yet
  coefficients.after_update(update_with_entropy(0.5));
  EXPECT_NEAR(*coefficients.of_update().entropy_coef, 0.018, 1e-15);
  coefficients.after_update(update_with_entropy(0.3));
  EXPECT_EQ(coefficients.of_update().entropy_coef, 0.02);  // the largest
  coefficients.after_update(update_with_entropy(0.7));
  EXPECT_EQ(coefficients.of_update().entropy_coef, 0.0);
  EXPECT_NEAR(metric(coefficients, "entropy_coef"), 0.012, 1e-15);
  coefficients.after_update(update_with_entropy(0.7));
  coefficients.after_update(update_with_entropy(0.7));
  EXPECT_EQ(metric(coefficients, "entropy_coef"), 0.004);
  LossResult nothing;
  coefficients.after_update(nothing);
  EXPECT_EQ(metric(coefficients, "entropy_coef"), 0.004);
}

// 0.05 * (1 + 0.2 * 64 / 640) and, 10 % above the target, 0.051 * (1 + 0.1 * 64 / 640).
TEST(Coefficients, BetaFollowsTheKl) {
  ObjectiveConfig config;
  config.loss.beta = 0.05;
  config.control = {.use_adaptive_beta = true, .target_kl = 0.2, .kl_horizon = 640.0};
  Coefficients coefficients(config);
  EXPECT_EQ(coefficients.beta({}), 0.05);
  coefficients.after_step(3.0, 64);
  EXPECT_NEAR(*coefficients.beta({}), 0.051, 1e-15);
  coefficients.after_step(0.22, 64);
  EXPECT_NEAR(metric(coefficients, "beta"), 0.05151, 1e-15);
  coefficients.after_step(std::nan(""), 64);
  EXPECT_NEAR(metric(coefficients, "beta"), 0.05151, 1e-15);
}

TEST(Coefficients, BetaDiffersByDomain) {
  ObjectiveConfig config;
  config.loss.beta = 0.05;
  EXPECT_FALSE(Coefficients(config).beta({}).has_value());
  config.control.domain_beta = {{"math", 0.0}, {"chat", 0.3}};
  const Coefficients coefficients(config);
  EXPECT_EQ(coefficients.beta(prompt_of("math")), 0.0);
  EXPECT_EQ(coefficients.beta(prompt_of("chat")), 0.3);
  EXPECT_EQ(coefficients.beta(prompt_of("code")), 0.05);
  EXPECT_EQ(coefficients.beta({}), 0.05);
  EXPECT_TRUE(coefficients.metrics().empty());
  // The largest decides what a run needs.
  EXPECT_EQ(resolved(config, 1).loss.beta, 0.3);
  EXPECT_EQ(resolved(config, 1).advantages.beta, 0.3);
}

TEST(Coefficients, LengthPreferenceGoesDownTheLosssGradient) {
  ObjectiveConfig config;
  config.loss.length_preference = 0.5;
  EXPECT_FALSE(Coefficients(config).of_update().length_preference.has_value());
  config.control.length_preference_learning_rate = 0.1;
  Coefficients coefficients(config);
  EXPECT_EQ(coefficients.of_update().length_preference, 0.5);
  LossResult loss;
  loss.length_preference_gradient = -2.0;
  coefficients.after_update(loss);
  EXPECT_NEAR(*coefficients.of_update().length_preference, 0.7, 1e-15);
  EXPECT_NEAR(metric(coefficients, "length_preference"), 0.7, 1e-15);
}

TEST(Coefficients, GoOnFromWhatWasSaved) {
  ObjectiveConfig config;
  config.loss.beta = 0.05;
  config.control = {.use_adaptive_entropy = true,
                    .entropy_target = 0.5,
                    .use_adaptive_beta = true,
                    .length_preference_learning_rate = 0.1};
  Coefficients moved(config), begun(config);
  begun.load(Json::parse(begun.save().dump()));
  EXPECT_EQ(begun.of_update().entropy_coef, 0.0);
  LossResult loss = update_with_entropy(1.0 / 3.0);
  loss.length_preference_gradient = 1.0 / 7.0;
  moved.after_update(loss);
  moved.after_step(0.17, 3);
  begun.load(Json::parse(moved.save().dump()));
  EXPECT_EQ(begun.of_update().entropy_coef, moved.of_update().entropy_coef);
  EXPECT_GT(*begun.of_update().entropy_coef, 0.0);
  EXPECT_EQ(begun.metrics(), moved.metrics());
  EXPECT_EQ(begun.metrics().size(), 3u);
}

TEST(Coefficients, ControlsWithoutEffectAreRefused) {
  const auto refusal = [](const ControlConfig& control, double beta) -> std::string {
    ObjectiveConfig config;
    config.loss.beta = beta;
    config.control = control;
    try {
      check_controls(control, resolved(config, 1));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}, 0.0), "");
  EXPECT_EQ(refusal({.domain_beta = {{"chat", 0.1}}, .sync_ref_model = true}, 0.0), "");
  EXPECT_NE(refusal({.sync_ref_model = true}, 0.0).find("sync_ref_model has no effect"), std::string::npos);
  EXPECT_NE(refusal({.use_adaptive_beta = true}, 0.0).find("a beta to start from"), std::string::npos);
  EXPECT_NE(refusal({.domain_beta = {{"chat", 0.1}}, .use_adaptive_beta = true}, 0.1).find("one beta"),
            std::string::npos);
  EXPECT_NE(refusal({.entropy_coef_min = 2.0}, 0.0).find("entropy_coef_max"), std::string::npos);
}

}  // namespace
}  // namespace cohort
