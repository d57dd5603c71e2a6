// The losses of reward models: their formulas, and that a batch may be cut anywhere.
#include "cohort/train/reward/reward_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/models/classifier.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

std::unique_ptr<Decoder> model(HeadKind head, at::ScalarType dtype) {
  const Json config = config_with_head(tiny_config("Qwen3ForCausalLM"), "config.json", head,
                                       head == HeadKind::kSequenceClassification ? 1 : 3);
  return tiny_decoder(config, dtype);
}

Ids some_ids(int64_t count, int64_t seed) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((seed * 37 + i * 11) % 300));
  return ids;
}

std::vector<RewardExample> pairs() {
  std::vector<RewardExample> examples;
  for (int64_t i = 0; i < 5; ++i)
    examples.push_back({.prompt_ids = some_ids(4 + i, i),
                        .completions = {some_ids(3 + i, 7 + i), some_ids(9 - i, 20 + i)},
                        .margin = i == 2 ? 0.7 : 0.0});
  return examples;
}

std::vector<RewardExample> solutions() {
  std::vector<RewardExample> examples;
  for (int64_t i = 0; i < 4; ++i)
    examples.push_back({.prompt_ids = some_ids(5, i),
                        .completions = {some_ids(12, 9 + i)},
                        .step_ends = i == 1 ? std::vector<int64_t>{12} : std::vector<int64_t>{2, 7, 11},
                        .step_labels = i == 1 ? std::vector<int64_t>{2} : std::vector<int64_t>{1, 0, 1}});
  return examples;
}

Ids whole(const RewardExample& example, size_t completion) {
  Ids ids = example.prompt_ids;
  ids.insert(ids.end(), example.completions[completion].begin(), example.completions[completion].end());
  return ids;
}

TEST(RewardLoss, PairsByTheFormula) {
  const ThreadCount one_thread{1};
  const at::NoGradGuard no_grad;
  const auto decoder = model(HeadKind::kSequenceClassification, at::kFloat);
  double loss = 0.0, margin = 0.0, sum = 0.0, least = 1e9, most = -1e9;
  int64_t num_right = 0, num_tokens = 0;
  for (const RewardExample& pair : pairs()) {
    const double chosen = sequence_scores(*decoder, {whole(pair, 0)}).item<float>();
    const double rejected = sequence_scores(*decoder, {whole(pair, 1)}).item<float>();
    loss += std::log1p(std::exp(-(chosen - rejected - pair.margin))) / 5;
    loss += 0.25 * (chosen + rejected) * (chosen + rejected) / 5;
    margin += chosen - rejected;
    sum += chosen + rejected;
    least = std::min({least, chosen, rejected});
    most = std::max({most, chosen, rejected});
    num_right += chosen > rejected;
    num_tokens += static_cast<int64_t>(whole(pair, 0).size() + whole(pair, 1).size());
  }
  const RewardLoss result = accumulate_reward_gradient(
      *decoder, pairs(), {.tokens_per_microbatch = 40, .center_rewards_coefficient = 0.25});
  EXPECT_NEAR(result.loss, loss, 1e-12);
  EXPECT_EQ(result.num_items, 5);
  EXPECT_EQ(result.num_right, num_right);
  EXPECT_NEAR(result.margin_sum, margin, 1e-12);
  EXPECT_NEAR(result.reward_sum, sum, 1e-12);
  EXPECT_EQ(result.reward_min, least);
  EXPECT_EQ(result.reward_max, most);
  EXPECT_EQ(result.num_rewards, 10);
  EXPECT_EQ(result.num_tokens, num_tokens);
}

TEST(RewardLoss, StepsByTheFormula) {
  const ThreadCount one_thread{1};
  const at::NoGradGuard no_grad;
  const auto decoder = model(HeadKind::kTokenClassification, at::kFloat);
  double loss = 0.0, sum = 0.0;
  int64_t num_right = 0;
  for (const RewardExample& example : solutions()) {
    const at::Tensor logprobs =
        at::log_softmax(token_scores(*decoder, {whole(example, 0)}).to(at::kDouble), 1);
    for (size_t step = 0; step < example.step_ends.size(); ++step) {
      const at::Tensor row = logprobs[5 + example.step_ends[step] - 1];
      loss -= row[example.step_labels[step]].item<double>() / 10;
      sum += std::exp(row[1].item<double>());
      num_right += row.argmax().item<int64_t>() == example.step_labels[step];
    }
  }
  const RewardLoss result = accumulate_reward_gradient(*decoder, solutions(), {.tokens_per_microbatch = 20});
  EXPECT_NEAR(result.loss, loss, 1e-12);
  EXPECT_EQ(result.num_items, 10);
  EXPECT_EQ(result.num_right, num_right);
  EXPECT_NEAR(result.reward_sum, sum, 1e-12);
}

TEST(RewardLoss, MicroBatchesAndRecomputationChangeNoGradient) {
  const ThreadCount one_thread{1};
  for (const HeadKind head : {HeadKind::kSequenceClassification, HeadKind::kTokenClassification}) {
    const auto batch = head == HeadKind::kSequenceClassification ? pairs() : solutions();
    const auto whole = model(head, at::kDouble), cut = model(head, at::kDouble);
    const RewardLoss one = accumulate_reward_gradient(*whole, batch, {.tokens_per_microbatch = 1000});
    const RewardLoss many =
        accumulate_reward_gradient(*cut, batch, {.tokens_per_microbatch = 1, .recompute = true});
    EXPECT_NEAR(one.loss, many.loss, 1e-12);
    for (size_t i = 0; i < whole->parameters().size(); ++i) {
      const at::Tensor &a = whole->parameters()[i].grad(), &b = cut->parameters()[i].grad();
      EXPECT_GT(a.abs().max().item<double>(), 0.0) << i;
      EXPECT_TRUE(at::allclose(a, b, 1e-6, 1e-9)) << i;
    }
  }
}

TEST(RewardLoss, StopsWhereItIsNotFinite) {
  const ThreadCount one_thread{1};
  const auto decoder = model(HeadKind::kSequenceClassification, at::kFloat);
  {
    const at::NoGradGuard no_grad;
    decoder->named_weights().back().second.fill_(NAN);
    decoder->refresh();
  }
  const RewardLoss result = accumulate_reward_gradient(*decoder, pairs(), {.tokens_per_microbatch = 1});
  EXPECT_FALSE(std::isfinite(result.loss));
  EXPECT_EQ(result.num_rewards, 2);
}

}  // namespace
}  // namespace cohort
