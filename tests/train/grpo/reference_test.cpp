#include "cohort/train/grpo/reference.h"

#include <gtest/gtest.h>

#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

class ReferenceTest : public testing::Test {
 protected:
  /// Fills all masters with one number.
  static void fill(Decoder& decoder, double value) {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : decoder.parameters()) parameter.fill_(value);
    decoder.refresh();
  }

  static void expect_filled(const Decoder& decoder, double value) {
    for (const at::Tensor& parameter : decoder.parameters()) {
      EXPECT_NEAR(parameter.min().item<double>(), value, 1e-6);
      EXPECT_NEAR(parameter.max().item<double>(), value, 1e-6);
    }
  }

  static std::unique_ptr<Decoder> filled(double value) {
    auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
    fill(*decoder, value);
    return decoder;
  }

  const std::unique_ptr<Decoder> policy_ = filled(2.0), decoder_ = filled(1.0);
  const TemporaryDirectory directory_;
};

TEST_F(ReferenceTest, StaysUnlessItIsTold) {
  Reference reference(decoder_.get(), *policy_, {});
  for (const int64_t update : {1, 512, 1024}) reference.after_update(*policy_, update);
  expect_filled(*decoder_, 1.0);
  EXPECT_FALSE(reference.part());
}

TEST_F(ReferenceTest, MovesByItsShareAfterSoManyUpdates) {
  Reference reference(decoder_.get(), *policy_,
                      {.sync_ref_model = true, .ref_model_mixup_alpha = 0.6, .ref_model_sync_steps = 3});
  reference.after_update(*policy_, 1);
  reference.after_update(*policy_, 2);
  expect_filled(*decoder_, 1.0);
  reference.after_update(*policy_, 3);
  expect_filled(*decoder_, 0.6 * 2.0 + 0.4 * 1.0);
  fill(*policy_, 5.0);
  reference.after_update(*policy_, 6);
  expect_filled(*decoder_, 0.6 * 5.0 + 0.4 * 1.6);
  expect_filled(*policy_, 5.0);
}

TEST_F(ReferenceTest, AShareOfOneIsAReplacementThatIsSeenAtOnce) {
  const auto policy = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kBFloat16);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kBFloat16);
  fill(*decoder, 0.1);
  ASSERT_FALSE(at::equal(all_logits(*policy, kTokens), all_logits(*decoder, kTokens)));
  Reference reference(decoder.get(), *policy_,
                      {.sync_ref_model = true, .ref_model_mixup_alpha = 1.0, .ref_model_sync_steps = 1});
  reference.after_update(*policy, 7);
  EXPECT_TRUE(at::equal(all_logits(*policy, kTokens), all_logits(*decoder, kTokens)));
}

TEST_F(ReferenceTest, IsThePolicyWithoutItsAdapters) {
  const auto adapted = tiny_adapted_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat, {.r = 2});
  const WeightSnapshot weights = Reference(adapted.get(), *adapted, {}).weights().value();
  EXPECT_EQ(&weights.decoder(), adapted.get());
  EXPECT_FALSE(weights.adapters().enabled);
  EXPECT_TRUE(Reference(decoder_.get(), *adapted, {}).weights()->adapters().enabled);
  EXPECT_FALSE(Reference(nullptr, *adapted, {}).weights());
}

TEST_F(ReferenceTest, GoesOnFromWhatWasSaved) {
  const ControlConfig config{.sync_ref_model = true, .ref_model_sync_steps = 1};
  Reference reference(decoder_.get(), *policy_, config);
  reference.after_update(*policy_, 1);
  const std::filesystem::path place = directory_.path() / "step";
  save_checkpoint(directory_.path() / "temporary", place, {reference.part().value()}, Json::object());
  const auto other = filled(9.0);
  Reference restored(other.get(), *policy_, config);
  load_checkpoint(place, {restored.part().value()});
  restored.refresh();
  for (size_t i = 0; i < other->parameters().size(); ++i)
    EXPECT_TRUE(at::equal(other->parameters()[i], decoder_->parameters()[i])) << i;
  EXPECT_TRUE(at::equal(all_logits(*other, kTokens), all_logits(*decoder_, kTokens)));
}

}  // namespace
}  // namespace cohort
