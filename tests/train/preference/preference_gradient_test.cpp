// The preference loss through a model: a shared prompt changes no log-probability, a batch may be cut between
// any pairs, the reference of adapters is the model below them, and a pair is learnt.
#include "cohort/train/preference/preference_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/packing.h"
#include "cohort/train/run/update.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

std::vector<int32_t> preference_ids(int64_t count, int64_t seed) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((seed * 37 + i * 11) % 300));
  return ids;
}

std::vector<PreferenceExample> preference_batch() {
  std::vector<PreferenceExample> examples(5);
  for (int64_t i = 0; i < 5; ++i) {
    examples[i].prompt_ids = preference_ids(4 + 3 * i, i);
    examples[i].completions[0].token_ids = preference_ids(1 + 2 * i, 7 + i);
    examples[i].completions[1].token_ids = preference_ids(9 - i, 20 + i);
  }
  return examples;
}

PreferenceOptions dpo_options(const char* loss_type = "sigmoid", int64_t tokens_per_microbatch = 1000) {
  return {.objective = {.beta = 0.3, .loss_type = loss_type}, .tokens_per_microbatch = tokens_per_microbatch};
}

std::unique_ptr<Decoder> dpo_model(at::ScalarType dtype, uint64_t seed = 1) {
  return tiny_decoder(tiny_config("Qwen3ForCausalLM"), dtype, seed);
}

/// log p of a completion, alone with its prompt, summed in its order.
double lone_logprob(const Decoder& decoder, const PreferenceExample& example, size_t side) {
  const at::NoGradGuard no_grad;
  const auto packed = pack({{&example.prompt_ids, {&example.completions[side]}}}, at::kCPU);
  const at::Tensor logprobs = packed_logprobs(decoder, *packed, 1.0).logprobs;
  double sum = 0.0;
  for (int64_t i = 0; i < logprobs.size(0); ++i) sum += logprobs[i].item<float>();
  return sum;
}

std::vector<at::Tensor> leaf_gradients(const Decoder& decoder) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& parameter : decoder.parameters()) result.push_back(parameter.grad());
  return result;
}

TEST(PreferenceGradient, SharedPromptsChangeNoLogProbability) {
  const auto decoder = dpo_model(at::kFloat);
  const std::vector<double> together = sequence_sums(*decoder, preference_batch(), dpo_options());
  ASSERT_EQ(together.size(), 10u);
  for (size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(together[i], lone_logprob(*decoder, preference_batch()[i / 2], i % 2)) << i;
  EXPECT_EQ(sequence_sums(*decoder, preference_batch(), dpo_options("sigmoid", 1)), together);
}

TEST(PreferenceGradient, ByTheFormula) {
  const auto policy = dpo_model(at::kFloat), reference = dpo_model(at::kFloat, 5);
  const std::vector<double> ref_sums = sequence_sums(*reference, preference_batch(), dpo_options());
  double loss = 0.0, margin = 0.0;
  int64_t num_tokens = 0;
  for (const PreferenceExample& pair : preference_batch()) {
    double lead = 0.0;
    for (const size_t side : {0, 1}) {
      const double ratio = lone_logprob(*policy, pair, side) - lone_logprob(*reference, pair, side);
      lead += side == 0 ? ratio : -ratio;
      num_tokens += std::ssize(pair.prompt_ids) + std::ssize(pair.completions[side].token_ids);
    }
    loss += std::log1p(std::exp(-0.3 * lead)) / 5;
    margin += 0.3 * lead / 5;
  }
  const PreferenceResult result =
      accumulate_preference_gradient(*policy, preference_batch(), ref_sums, dpo_options());
  EXPECT_NEAR(result.loss, loss, 1e-12);
  EXPECT_NEAR(result.metrics.values().at("rewards/margins"), margin, 1e-12);
  EXPECT_GT(result.metrics.values().at("entropy"), 0.0);
  EXPECT_EQ(result.num_tokens, num_tokens);
  EXPECT_FALSE(result.aux_loss);
}

TEST(PreferenceGradient, MicroBatchesAndRecomputationChangeNothing) {
  for (const char* type : {"sigmoid", "ipo"}) {
    const auto whole = dpo_model(at::kDouble), cut = dpo_model(at::kDouble);
    const std::vector<double> ref_sums =
        sequence_sums(*dpo_model(at::kDouble, 5), preference_batch(), dpo_options());
    const PreferenceResult one =
        accumulate_preference_gradient(*whole, preference_batch(), ref_sums, dpo_options(type));
    PreferenceOptions pieces = dpo_options(type, 1);
    pieces.recompute = true;
    const PreferenceResult many = accumulate_preference_gradient(*cut, preference_batch(), ref_sums, pieces);
    for (const auto& [name, value] : one.metrics.values())
      EXPECT_NEAR(many.metrics.values().at(name), value, 1e-12) << name;
    for (size_t i = 0; i < whole->parameters().size(); ++i) {
      const at::Tensor a = leaf_gradients(*whole)[i], b = leaf_gradients(*cut)[i];
      EXPECT_GT(a.abs().max().item<double>(), 0.0) << i;
      EXPECT_TRUE(at::allclose(a, b, 1e-9, 1e-12)) << type << " " << i;
    }
  }
}

TEST(PreferenceGradient, ThreadsChangeNoBit) {
  std::vector<at::Tensor> expected;
  for (const int threads : {1, 4}) {
    const ThreadCount count(threads);
    const auto policy = dpo_model(at::kFloat);
    const std::vector<double> ref_sums(10, -3.0);
    accumulate_preference_gradient(*policy, preference_batch(), ref_sums, dpo_options("sigmoid", 1));
    const std::vector<at::Tensor> found = leaf_gradients(*policy);
    if (threads == 1) expected = found;
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << i;
  }
}

TEST(PreferenceGradient, ExpertsAreBalancedOverAllCompletions) {
  PreferenceOptions with_experts = dpo_options();
  with_experts.router_aux_loss_coef = 0.5;
  std::vector<double> losses;
  for (const int64_t tokens : {1000, 1}) {
    const auto policy = tiny_decoder(tiny_config("Qwen3MoeForCausalLM"), at::kDouble);
    with_experts.tokens_per_microbatch = tokens;
    const PreferenceResult result = accumulate_preference_gradient(
        *policy, preference_batch(), std::vector<double>(10, -3.0), with_experts);
    ASSERT_TRUE(result.aux_loss);
    losses.push_back(*result.aux_loss);
    const at::NoGradGuard no_grad;
    EXPECT_FALSE(accumulate_preference_gradient(*policy, preference_batch(), std::vector<double>(10, -3.0),
                                                with_experts)
                     .aux_loss);
  }
  EXPECT_GT(losses[0], 0.5);
  EXPECT_NEAR(losses[0], losses[1], 1e-12);
}

TEST(PreferenceGradient, TheReferenceOfAdaptersIsTheModelBelow) {
  const auto adapted = tiny_adapted_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat, {.r = 2});
  const std::vector<double> base = sequence_sums(*dpo_model(at::kFloat), preference_batch(), dpo_options());
  EXPECT_NE(sequence_sums(*adapted, preference_batch(), dpo_options()), base);
  EXPECT_EQ(sequence_sums({*adapted, {.enabled = false}}, preference_batch(), dpo_options()), base);
}

TEST(PreferenceGradient, PairsAreLearnt) {
  for (const bool reference_free : {false, true}) {
    const auto policy = dpo_model(at::kFloat);
    PreferenceOptions dpo = dpo_options();
    dpo.objective.reference_free = reference_free;
    const std::vector<double> ref_sums =
        reference_free ? std::vector<double>() : sequence_sums(*policy, preference_batch(), dpo);
    AdamW optimizer(policy->parameters(), {.learning_rate = 1e-3});
    PreferenceResult first, last;
    for (int64_t step = 0; step < 12; ++step) {
      optimizer.zero_grad();
      last = accumulate_preference_gradient(*policy, preference_batch(), ref_sums, dpo);
      if (step == 0) first = last;
      update_weights(*policy, optimizer, {.learning_rate = 1e-3, .lr_scheduler_type = "constant"}, 12,
                     last.loss);
    }
    if (!reference_free) {
      EXPECT_NEAR(first.loss, std::log(2.0), 1e-12);
      EXPECT_EQ(first.metrics.values().at("rewards/accuracies"), 0.0);
    }
    EXPECT_LT(last.loss, 0.5 * first.loss);
    EXPECT_EQ(last.metrics.values().at("rewards/accuracies"), 1.0);
  }
}

TEST(PreferenceGradient, ALossThatIsNotFiniteSaysSo) {
  const auto policy = dpo_model(at::kFloat);
  {
    const at::NoGradGuard no_grad;
    policy->named_weights().back().second.fill_(NAN);
    policy->refresh();
  }
  const PreferenceResult result = accumulate_preference_gradient(
      *policy, preference_batch(), std::vector<double>(10, -3.0), dpo_options("sigmoid", 1));
  EXPECT_FALSE(std::isfinite(result.loss));
  EXPECT_FALSE(std::isfinite(result.metrics.values().at("loss")));
}

}  // namespace
}  // namespace cohort
