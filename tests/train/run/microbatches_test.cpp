#include "cohort/train/run/microbatches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/ops/gradient.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

class MicrobatchesTest : public testing::Test {
 protected:
  const ThreadCount two_threads_{2};
  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
};

TEST_F(MicrobatchesTest, AddsGradientsInOrderWhicheverEndsFirst) {
  const at::Tensor leaf = decoder_->parameters()[0];
  leaf.mutable_grad() = at::zeros_like(leaf.detach());
  // In float32 (1 + 2^30) - 2^30 is 0, and (2^30 - 2^30) + 1 is 1.
  const float values[] = {1.0f, 1 << 30, -(1 << 30)};
  std::atomic<int> ended = 0;
  for_each_microbatch(*decoder_, 3, [&](int64_t i) {
    // The first one ends last, where another thread takes the others.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (i == 0 && ended < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    accumulate_grad(leaf, at::full_like(leaf.detach(), values[i]));
    ++ended;
  });
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(at::equal(leaf.grad(), at::zeros_like(leaf.detach())));
}

TEST_F(MicrobatchesTest, KeepsTheModeOfTheCaller) {
  std::atomic<int> with_graph = 0;
  const auto count = [&](int64_t) { with_graph += at::GradMode::is_enabled(); };
  for_each_microbatch(*decoder_, 6, count);
  EXPECT_EQ(with_graph, 6);
  const at::NoGradGuard no_grad;
  for_each_microbatch(*decoder_, 6, count);
  EXPECT_EQ(with_graph, 6);
}

TEST_F(MicrobatchesTest, EachComputesOnOneThread) {
  for (const int64_t count : {1, 5}) {
    std::atomic<int64_t> alone = 0;
    for_each_microbatch(*decoder_, count, [&](int64_t) { alone += at::get_num_threads() == 1; });
    EXPECT_EQ(alone, count);
    EXPECT_EQ(at::get_num_threads(), 2);
  }
}

TEST_F(MicrobatchesTest, AnExceptionReachesTheCallerAndClosesTheSink) {
  const auto fail = [](int64_t i) {
    if (i == 1) throw UserError("no");
  };
  EXPECT_THROW(for_each_microbatch(*decoder_, 4, fail), UserError);
  for_each_microbatch(*decoder_, 4, [](int64_t) {});  // sinks do not nest
}

TEST(GradientSink, KeepsGradientsFromTheLeafUntilTheyAreAdded) {
  const at::Tensor leaf = at::ones({2}).set_requires_grad(true), frozen = at::ones({2});
  accumulate_grad(leaf, at::full({2}, 5.0));
  GradientSink sink;
  {
    const GradientSink::Scope scope(sink);
    accumulate_grad(leaf, at::full({2}, 1.0));
    accumulate_grad(leaf, at::full({2}, 2.0));
    accumulate_grad(frozen, at::full({2}, 2.0));
    EXPECT_THROW(GradientSink::Scope second(sink), InternalError);
  }
  EXPECT_EQ(leaf.grad()[0].item<float>(), 5.0f);
  EXPECT_FALSE(frozen.grad().defined());
  sink.add_to_leaves();
  sink.add_to_leaves();
  EXPECT_EQ(leaf.grad()[0].item<float>(), 8.0f);
}

}  // namespace
}  // namespace cohort
