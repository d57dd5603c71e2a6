// Weights that a pass reads while the decoder is trained on, and passes with and without adapters side by
// side.
#include "cohort/models/weight_snapshot.h"

#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "cohort/core/error.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

/// Moves every trained weight, as an optimizer does, in place.
void train(Decoder& decoder) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : decoder.parameters()) parameter.mul_(0.9).add_(0.01);
  decoder.refresh();
}

at::Tensor logits_of(const WeightSnapshot& weights) {
  return all_logits(weights.decoder(), kTokens, weights.adapters());
}

class WeightSnapshotTest : public testing::TestWithParam<std::tuple<const char*, at::ScalarType>> {
 protected:
  const ThreadCount one_thread_{1};
};

TEST_P(WeightSnapshotTest, HoldsTheWeightsWhileTheDecoderIsTrained) {
  const auto [architecture, compute] = GetParam();
  const auto decoder = tiny_decoder(tiny_config(architecture), compute);
  const at::Tensor before = logits_of(*decoder);
  const WeightSnapshot snapshot = WeightSnapshot::of_now(*decoder);
  EXPECT_TRUE(at::equal(logits_of(snapshot), before));
  train(*decoder);
  EXPECT_FALSE(at::equal(logits_of(*decoder), before));
  EXPECT_TRUE(at::equal(logits_of(snapshot), before));
  EXPECT_TRUE(at::equal(logits_of(WeightSnapshot(snapshot)), before)) << "a copy shares the weights";
  EXPECT_EQ(snapshot.decoder().num_parameters(), decoder->num_parameters());
  EXPECT_TRUE(snapshot.decoder().parameters().empty());
}

TEST_P(WeightSnapshotTest, HoldsAdaptersAndSavedModules) {
  const auto [architecture, compute] = GetParam();
  if (std::string(architecture).find("Moe") != std::string::npos ||
      architecture == std::string("MixtralForCausalLM"))
    return;  // a mixture's projections are not all adapted, so that DoRA's and LoRA's cases are those of the
             // others
  for (const bool use_dora : {false, true}) {
    const auto decoder =
        tiny_adapted_decoder(tiny_config(architecture), compute,
                             {.r = 2, .use_dora = use_dora, .modules_to_save = {"embed_tokens", "lm_head"}});
    const at::Tensor before = logits_of(*decoder), base = logits_of({*decoder, {.enabled = false}});
    const WeightSnapshot adapted = WeightSnapshot::of_now(*decoder);
    const WeightSnapshot plain = WeightSnapshot::of_now(*decoder, {.enabled = false});
    train(*decoder);
    EXPECT_FALSE(at::equal(logits_of(*decoder), before));
    EXPECT_TRUE(at::equal(logits_of(adapted), before));
    EXPECT_TRUE(at::equal(logits_of(plain), base));
    EXPECT_TRUE(at::equal(logits_of({*decoder, {.enabled = false}}), base)) << "the base stays as it is";
  }
}

TEST_P(WeightSnapshotTest, IsReadWhileAnotherThreadTrains) {
  const auto [architecture, compute] = GetParam();
  const auto decoder = tiny_decoder(tiny_config(architecture), compute);
  const at::Tensor before = logits_of(*decoder);
  const WeightSnapshot snapshot = WeightSnapshot::of_now(*decoder);
  int64_t same = 0;
  std::thread reader([&] {
    for (int i = 0; i < 20; ++i) same += at::equal(logits_of(snapshot), before);
  });
  for (int i = 0; i < 20; ++i) train(*decoder);
  reader.join();
  EXPECT_EQ(same, 20);
}

// Adapters of decoders that share frozen weights are independent, and the base is the same.
TEST(Decoder, SharesFrozenWeights) {
  const ThreadCount one_thread(1);
  for (const at::ScalarType compute : {at::kFloat, at::kBFloat16}) {
    for (const bool is_tied : {false, true}) {
      Json config = tiny_config("Qwen3ForCausalLM");
      config["tie_word_embeddings"] = is_tied;
      Decoder first(parse_decoder_config(config, "config.json"), compute, at::kCPU, std::nullopt,
                    /*is_frozen=*/true);
      randomize(first, 1);
      const auto second = first.share_frozen();
      const at::Tensor base = logits_of(first);
      EXPECT_TRUE(at::equal(logits_of(*second), base));
      first.adapt({.r = 2, .target_modules = {"all-linear"}}, 1);
      second->adapt({.r = 2, .target_modules = {"all-linear"}}, 2);
      train(first);
      EXPECT_FALSE(at::equal(logits_of(first), base));
      EXPECT_TRUE(at::equal(logits_of(*second), base)) << "B is zero";
      const at::Tensor trained = logits_of(first);
      train(*second);
      EXPECT_FALSE(at::equal(logits_of(*second), base));
      EXPECT_TRUE(at::equal(logits_of(first), trained));
      EXPECT_TRUE(at::equal(logits_of({first, {.enabled = false}}), base));
      EXPECT_TRUE(at::equal(logits_of({*second, {.enabled = false}}), base));
      EXPECT_THROW(second->share_frozen(), InternalError);
    }
  }
}

TEST(WeightSnapshot, CarriesNoGradient) {
  const auto decoder = tiny_adapted_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat, {.r = 2});
  const WeightSnapshot snapshot = WeightSnapshot::of_now(*decoder);
  DecoderInput input;
  input.token_ids = at::tensor(kTokens, at::kLong);
  input.positions = at::arange(std::ssize(kTokens), at::kLong);
  input.plan.add_sequence(0, std::ssize(kTokens), 0, {{0, std::ssize(kTokens)}});
  EXPECT_TRUE(decoder->forward(input).requires_grad());
  EXPECT_FALSE(snapshot.decoder().forward(input).requires_grad());
}

// Two threads forward one decoder at once, one with its adapters and one without: neither changes it.
TEST(Decoder, IsForwardedWithAndWithoutAdaptersAtOnce) {
  const ThreadCount one_thread(1);
  for (const at::ScalarType compute : {at::kFloat, at::kBFloat16}) {
    const auto decoder = tiny_adapted_decoder(tiny_config("Qwen3ForCausalLM"), compute,
                                              {.r = 2, .modules_to_save = {"lm_head"}});
    const WeightSnapshot adapted(*decoder), base(*decoder, {.enabled = false});
    const at::Tensor with = logits_of(adapted), without = logits_of(base);
    ASSERT_FALSE(at::equal(with, without));
    int64_t same = 0;
    std::thread other([&, &same = same] {
      for (int i = 0; i < 50; ++i) same += at::equal(logits_of(base), without);
    });
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(at::equal(logits_of(adapted), with));
    other.join();
    EXPECT_EQ(same, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, WeightSnapshotTest,
                         testing::Combine(testing::ValuesIn(kArchitectures),
                                          testing::Values(at::kFloat, at::kBFloat16, at::kDouble)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  toString(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace cohort
