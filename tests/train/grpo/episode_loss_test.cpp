// Losses of episodes: ECHO's on an environment's replies, against the pass that scores the same tokens as
// sampled ones, and ratios of turns.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/run/optimizer.h"
#include "tests/models/tiny_decoder.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A token for each letter of `origins`: s sampled, i injected; `inverse` swaps them.
Completion completion_of(const std::string& origins, int32_t first_id, bool inverse = false) {
  Completion completion;
  int32_t turn = 0;
  for (size_t i = 0; i < origins.size(); ++i) {
    if (origins[i] == 'i' && i > 0 && origins[i - 1] == 's') ++turn;
    const bool is_sampled = (origins[i] == 's') != inverse;
    completion.append(first_id + static_cast<int32_t>(i),
                      is_sampled ? TokenOrigin::kSampled : TokenOrigin::kInjected, turn);
  }
  completion.sampler_logprobs.assign(completion.num_sampled(), -1.0f);
  return completion;
}

class EpisodeLossTest : public testing::Test {
 protected:
  EpisodeLossTest() {
    // Two prompts. The second completion begins with an opening, which is no reply, and ends with a reply
    // that is never forwarded; the third has one turn; the fourth is masked.
    const char* origins[] = {"ssiiis", "issiisii", "sss", "siiis"};
    for (int i = 0; i < 4; ++i) {
      if (i % 2 == 0) groups_.push_back({.prompt = {.id = str(i), .token_ids = {5, 6, 7}, .text = ""}});
      Sample& sample = groups_.back().samples.emplace_back();
      sample.completion = completion_of(origins[i], 10 + 9 * i);
      sample.advantage = 0.0;
      if (i == 3) sample.mask = LossMask::kFailed;
    }
    objective_.echo_coef = 0.5;
  }

  LossResult gradient_of(const LossConfig& objective, int64_t rows = 1 << 20) {
    AdamW optimizer(decoder_->parameters(), {});
    optimizer.zero_grad();
    const LossOptions options{.temperature = 0.7, .tokens_per_microbatch = rows};
    return accumulate_policy_gradient(*decoder_, groups_, objective, options);
  }

  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> all;
    for (const at::Tensor& leaf : decoder_->parameters()) all.push_back(leaf.grad().clone());
    return all;
  }

  void expect_close(const std::vector<at::Tensor>& expected) const {
    double largest = 0.0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor& leaf = decoder_->parameters()[i].grad();
      EXPECT_TRUE(at::allclose(leaf, expected[i], 1e-4, 1e-6)) << i;
      largest = std::max(largest, leaf.abs().max().item<double>());
    }
    EXPECT_GT(largest, 1e-3);
  }

  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
  std::vector<Group> groups_;
  LossConfig objective_;
};

TEST_F(EpisodeLossTest, IsTheCrossEntropyOfTheRepliesTokens) {
  // The five tokens of replies, scored as if they had been sampled at temperature 1.
  const std::vector<int32_t> prompt{5, 6, 7};
  Completion first = completion_of("ssiiis", 10, /*inverse=*/true);
  Completion second = completion_of("sssiis", 19, /*inverse=*/true);
  const auto batch = pack({{&prompt, {&first, &second}}}, at::TensorOptions());
  AdamW(decoder_->parameters(), {}).zero_grad();
  const at::Tensor logprobs = packed_logprobs(*decoder_, *batch, 1.0).logprobs;
  ASSERT_EQ(logprobs.size(0), 5);
  const double cross_entropy = -logprobs.to(at::kDouble).mean().item<double>();
  (-0.5 * logprobs.mean()).backward();
  const std::vector<at::Tensor> expected = gradients();

  const LossResult result = gradient_of(objective_);
  EXPECT_NEAR(result.objective.values().at("reply_cross_entropy"), cross_entropy, 1e-5);
  EXPECT_NEAR(result.objective.values().at("echo_loss"), 0.5 * cross_entropy, 1e-5);
  EXPECT_NEAR(result.objective.values().at("loss"), 0.5 * cross_entropy, 1e-5);
  expect_close(expected);
  // Micro-batches change nothing.
  const LossResult cut = gradient_of(objective_, 8);
  EXPECT_NEAR(cut.objective.values().at("echo_loss"), 0.5 * cross_entropy, 1e-5);
  expect_close(expected);
}

// Turns whose tokens have the log-ratios 0.1, 0.3 and 0.5 have the ratios exp(0.2) and exp(0.5).
TEST_F(EpisodeLossTest, RatiosMayBeThoseOfTurns) {
  LossConfig config;
  config.importance_sampling_level = "turn";
  Group& group = groups_[0];
  group.samples.resize(1);  // "ssiiis"
  groups_.resize(1);
  group.samples[0].advantage = 1.0;
  fill_old_logprobs(*decoder_, groups_, {.temperature = 0.7, .tokens_per_microbatch = 1 << 20});
  std::vector<float>& old = group.samples[0].old_logprobs;
  ASSERT_EQ(old.size(), 3u);
  const float ratios[] = {0.1f, 0.3f, 0.5f};
  for (int t = 0; t < 3; ++t) old[t] -= ratios[t];
  const LossResult result = gradient_of(config);
  EXPECT_NEAR(result.objective.values().at("ratio/mean"), (2 * std::exp(0.2) + std::exp(0.5)) / 3, 1e-5);
}

TEST_F(EpisodeLossTest, LeavesThePolicyTermAsItIs) {
  groups_[0].samples[0].advantage = 1.0;
  LossConfig without = objective_;
  without.echo_coef = 0.0;
  gradient_of(without);
  std::vector<at::Tensor> expected = gradients();
  groups_[0].samples[0].advantage = 0.0;
  gradient_of(objective_);
  const std::vector<at::Tensor> more = gradients();
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += more[i];
  groups_[0].samples[0].advantage = 1.0;
  const LossResult both = gradient_of(objective_);
  expect_close(expected);
  EXPECT_FALSE(gradient_of(without).objective.values().contains("echo_loss"));
  EXPECT_EQ(both.num_forwarded_tokens, 3 + 3 + 3);
}

TEST_F(EpisodeLossTest, IsZeroWithoutReplies) {
  groups_.erase(groups_.begin());
  const LossResult result = gradient_of(objective_);
  EXPECT_EQ(result.objective.values().at("echo_loss"), 0.0);
  EXPECT_TRUE(result.is_finite);
}

}  // namespace
}  // namespace cohort
