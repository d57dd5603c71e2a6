// A critic in the trainer: its phases, what advantages and returns its values give, and its updates.
#include "cohort/train/critic/critic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/train_config.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"
#include "tests/train/batches.h"
#include "tests/train/critic_batch.h"

namespace cohort {
namespace {

ObjectiveSettings ppo() {
  ObjectiveSettings settings = settings_of_preset("ppo");
  settings.loss.value_coef = 0.5;
  return settings;
}

TEST(CriticPhase, PretrainsThenLosesItsShare) {
  const CriticConfig config{.pretrain_steps = 2, .share_steps = 4};
  const double shares[] = {0.8, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0};
  for (int64_t step = 1; step <= 8; ++step) {
    const CriticPhase phase = critic_phase(config, 0.8, step);
    EXPECT_EQ(phase.trains_policy, step > 2) << step;
    EXPECT_NEAR(phase.share, shares[step - 1], 1e-12) << step;
  }
  EXPECT_EQ(critic_phase({.pretrain_steps = 2}, 0.8, 100).share, 0.8);
  EXPECT_EQ(critic_steps(config, 100), 6);
  EXPECT_EQ(critic_steps(config, 5), 5);
  EXPECT_EQ(critic_steps({.pretrain_steps = 2}, 100), 100);
}

TEST(CriticPhase, ChangesTheObjective) {
  ObjectiveSettings settings = objective_in({.trains_policy = false, .share = 1.0}, ppo(), false);
  EXPECT_EQ(settings.advantages.baseline_keys.critic.value_lambda, 1.0);  // Monte-Carlo returns
  settings = objective_in({.share = 0.25}, settings_of_preset("vapo"), true);
  EXPECT_EQ(settings.advantages.baseline_keys.critic.share, 0.25);
  EXPECT_EQ(settings.advantages.baseline, "critic");
  EXPECT_EQ(settings.loss.value_coef, settings_of_preset("vapo").loss.value_coef);
  settings = objective_in({.share = 0.0}, settings_of_preset("vapo"), false);
  EXPECT_EQ(settings.loss.value_coef, 0.0);
  EXPECT_FALSE(needs_critic(settings));
  EXPECT_NO_THROW(check_advantage_config(settings.advantages));
}

TEST(CriticConfig, RefusesWhatHasNoEffect) {
  EXPECT_NO_THROW(check_critic({}, settings_of_preset("grpo")));
  EXPECT_NO_THROW(check_critic({.kind = "head", .pretrain_steps = 3}, ppo()));
  const auto refused = [](const CriticConfig& config, const ObjectiveSettings& settings) {
    return message_of<ConfigError>([&] { check_critic(config, settings); });
  };
  EXPECT_NE(refused({.lr = 1e-4}, settings_of_preset("grpo")).find("[critic] has no effect"),
            std::string::npos);
  EXPECT_NE(refused({.kind = "head", .path = "m"}, ppo()).find("critic.path"), std::string::npos);
  ObjectiveSettings settings = settings_of_preset("grpo");
  settings.loss.value_coef = 0.1;
  EXPECT_NE(refused({}, settings).find("value_coef has no effect"), std::string::npos);
  settings = ppo();
  settings.advantages.baseline_keys.critic.share = 0.0;
  EXPECT_NE(refused({}, settings).find("critic_share"), std::string::npos);
  settings.loss.value_coef = 0.0;
  EXPECT_NE(refused({}, settings).find("value_coef is 0"), std::string::npos);
}

// values 0.5 0.4 0.2 with the reward 1: deltas -0.1 -0.2 0.8; lambda 0.5: 0.8, 0.2, 0.
TEST(Credit, OfACriticIsThatOfItsValues) {
  Group group;
  group.samples = {sample_of({ok(1.0)}, 3), sample_of({ok(0.0)}, 1)};
  group.samples[0].values = {0.5f, 0.4f, 0.2f};
  group.samples[1].values = {0.25f};
  Batch batch = batch_of({group});
  const std::vector<Sample>& samples = batch.groups[0].samples;
  AdvantageConfig config = ppo().advantages;
  config.token_whiten = false;
  config.gae_lambda = 0.5;
  const auto expect_numbers = [](const std::vector<float>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t t = 0; t < expected.size(); ++t) EXPECT_NEAR(actual[t], expected[t], 1e-6) << t;
  };
  assign_credit(batch, config);
  expect_numbers(samples[0].token_advantages, {0.0, 0.2, 0.8});
  expect_numbers(samples[0].returns, {0.5, 0.6, 1.0});
  expect_numbers(samples[1].token_advantages, {-0.25});
  expect_numbers(samples[1].returns, {0.0});
  EXPECT_NEAR(samples[1].advantage, -0.25, 1e-12);
  // Pre-training learns Monte-Carlo returns.
  config.baseline_keys.critic.value_lambda = 1.0;
  assign_credit(batch, config);
  expect_numbers(samples[0].returns, {1.0, 1.0, 1.0});
  // A half of the group's: mean 1/2, std sqrt(1/2).
  config.baseline_keys.critic.share = 0.5;
  config.scale_epsilon = 0.0;
  assign_credit(batch, config);
  const double relative = 0.5 * std::sqrt(0.5);
  expect_numbers(samples[0].token_advantages, {relative, 0.1 + relative, 0.4 + relative});
}

class CriticModelTest : public testing::Test {
 protected:
  CriticModelTest() {
    config_.model.path = (directory_.path() / "policy").string();
    const auto policy = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
    write_model(*policy, config_.model.path);
    static_cast<ObjectiveSettings&>(config_.objective) = ppo();
    config_.optimizer.max_grad_norm = 0.0;
    config_.critic.lr = 1e-2;
    policy_ = load_pretrained(config_.model.path, at::kFloat, at::kCPU);
  }

  static void write_model(const Decoder& decoder, const std::filesystem::path& directory) {
    const TemporaryDirectory nothing;
    save_pretrained(decoder, nothing.path(), directory);
  }

  /// A model with `labels` scores.
  std::string classifier(const char* name, HeadKind head, int64_t labels, int64_t vocab_size = 300) {
    Json config = tiny_config("Qwen3ForCausalLM");
    config["vocab_size"] = vocab_size;
    const auto path = directory_.path() / name;
    write_model(*tiny_decoder(config_with_head(config, "config.json", head, labels), at::kFloat), path);
    return path.string();
  }

  std::string error_with(const std::string& path) {
    config_.critic.path = path;
    return message_of<UserError>([&] { Critic(config_.critic_setup(), *policy_, 10); });
  }

  TemporaryDirectory directory_;
  TrainConfig config_;
  std::unique_ptr<Decoder> policy_;
};

TEST_F(CriticModelTest, LearnsItsReturnsAndLeavesThePolicyAlone) {
  for (const char* kind : {"model", "head"}) {
    config_.critic.kind = kind;
    config_.critic.pretrain_steps = 1;
    config_.objective.loss.value_clip = 100.0;
    Critic critic(config_.critic_setup(), *policy_, 100);
    EXPECT_FALSE(critic.begin(1).trains_policy);
    EXPECT_EQ(critic.joint_head(), nullptr);
    std::vector<at::Tensor> before;
    for (const at::Tensor& leaf : policy_->parameters()) before.push_back(leaf.detach().clone());
    Batch batch = critic_batch();
    critic.fill_values(batch.groups);
    const double first = critic.update(batch.groups).objective.values().at("critic/vf_loss");
    double last = first;
    for (int i = 0; i < 40; ++i) last = critic.update(batch.groups).objective.values().at("critic/vf_loss");
    EXPECT_LT(last, 0.5 * first) << kind;
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(at::equal(before[i], policy_->parameters()[i])) << kind << " " << i;
    EXPECT_TRUE(critic.begin(2).trains_policy);
    EXPECT_EQ(critic.joint_head() != nullptr, std::string(kind) == "head");
  }
}

TEST_F(CriticModelTest, SkipsAnUpdateThatIsNotFinite) {
  Critic critic(config_.critic_setup(), *policy_, 100);
  critic.begin(1);
  Batch batch = critic_batch();
  batch.groups[1].samples[1].returns[2] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor before = critic.part().weights[0].second.clone();
  const LossResult result = critic.update(batch.groups);
  EXPECT_FALSE(result.is_finite);
  EXPECT_FALSE(result.nonfinite.empty());
  EXPECT_TRUE(at::equal(critic.part().weights[0].second, before));
}

TEST_F(CriticModelTest, SaysHowMuchItExplains) {
  Critic critic(config_.critic_setup(), *policy_, 100);
  critic.begin(1);
  std::vector<Group> groups(1);
  std::vector<Sample>& samples = groups[0].samples;
  samples.resize(2);
  for (Sample& sample : samples) sample.completion.token_ids = {1, 2};
  samples[0].values = {0.0f, 1.0f};
  samples[0].returns = {1.0f, 1.0f};
  samples[1].values = {0.0f, 0.0f};
  samples[1].returns = {0.0f, 0.0f};
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : critic.metrics(groups)) metrics[name] = value;
  EXPECT_EQ(metrics.at("critic/values/mean"), 0.25);
  EXPECT_EQ(metrics.at("critic/returns/mean"), 0.5);
  EXPECT_NEAR(metrics.at("critic/vf_explained_var"), 1.0 - (3.0 / 16) / (1.0 / 4), 1e-12);
  EXPECT_EQ(metrics.at("critic/share"), 1.0);
  samples[0].mask = LossMask::kTruncated;  // no two returns differ
  for (const auto& [name, value] : critic.metrics(groups)) metrics[name] = value;
  EXPECT_TRUE(std::isnan(metrics.at("critic/vf_explained_var")));
}

TEST_F(CriticModelTest, StartsFromAnyModelThatJudgesThePolicysTokens) {
  config_.critic.path = classifier("reward", HeadKind::kSequenceClassification, 1);
  const Critic critic(config_.critic_setup(), *policy_, 10);
  EXPECT_EQ(critic.model()->config().num_labels, 1);
  critic.save(directory_.path() / "saved");
  config_.critic.path = (directory_.path() / "saved").string();
  const Critic again(config_.critic_setup(), *policy_, 10);
  for (size_t i = 0; i < critic.model()->parameters().size(); ++i)
    EXPECT_TRUE(at::equal(critic.model()->parameters()[i], again.model()->parameters()[i])) << i;
  config_.critic.path = classifier("token", HeadKind::kTokenClassification, 1);
  EXPECT_NO_THROW(Critic(config_.critic_setup(), *policy_, 10));
  EXPECT_NE(error_with(classifier("two", HeadKind::kTokenClassification, 2)).find("2 labels"),
            std::string::npos);
  EXPECT_NE(
      error_with(classifier("few", HeadKind::kSequenceClassification, 1, 200)).find("vocabulary of 200"),
      std::string::npos);
}

}  // namespace
}  // namespace cohort
