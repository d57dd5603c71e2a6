// segments.h and ratio_level.h against hand arithmetic and finite differences.
#include "cohort/objectives/ratio_level.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

const at::Device kCpu(at::kCPU);

TEST(Segments, SumsMeansAndEmptyOnes) {
  const Segments segments({2, 0, 1}, kCpu);
  const at::Tensor values = doubles({1, 3, 10});
  expect_all_near(segments.sum(values), {4, 0, 10});
  expect_all_near(segments.mean(values), {2, 0, 10});
  expect_all_near(segments.expand(doubles({7, 8, 9})), {7, 7, 9});
  expect_all_near(segments.lengths(at::kDouble), {2, 0, 1});
  EXPECT_EQ(segments.mean(values.to(at::kFloat)).scalar_type(), at::kFloat);
  EXPECT_EQ(Segments({}, kCpu).num_tokens(), 0);
  EXPECT_EQ(Segments({0, 0}, kCpu).sum(doubles({})).numel(), 2);
}

TEST(Segments, WrongSizesAreRefused) {
  const Segments segments({2, 1}, kCpu);
  EXPECT_THROW(segments.sum(doubles({1, 2})), InternalError);
  EXPECT_THROW(segments.expand(doubles({1, 2, 3})), InternalError);
  EXPECT_THROW(Segments({2, -1}, kCpu), InternalError);
}

// Log-ratios log 2, log 8 of the first completion: geometric mean 4, arithmetic mean 5, product 16.
struct RatioCase {
  Segments completions{{2, 1}, kCpu};
  Segments turns{{1, 1, 1}, kCpu};
  at::Tensor log_ratio = doubles({std::log(2.0), std::log(8.0), std::log(0.5)});

  at::Tensor ratio(const std::string& level, const at::Tensor& at_point) const {
    return ratio_at_level(level, at_point, completions, &turns);
  }
};

TEST(RatioLevel, ValuesByHand) {
  const RatioCase test;
  expect_all_near(test.ratio("token", test.log_ratio), {2, 8, 0.5});
  expect_all_near(test.ratio("sequence", test.log_ratio), {4, 4, 0.5});
  expect_all_near(test.ratio("sequence_token", test.log_ratio), {4, 4, 0.5});
  expect_all_near(test.ratio("sequence_mean", test.log_ratio), {5, 5, 0.5});
  expect_all_near(test.ratio("sequence_product", test.log_ratio), {16, 16, 0.5});
  expect_all_near(test.ratio("turn", test.log_ratio), {2, 8, 0.5});
  EXPECT_THROW(test.ratio("none", test.log_ratio), InternalError);
  EXPECT_THROW(ratio_at_level("turn", test.log_ratio, test.completions, nullptr), InternalError);
}

TEST(RatioLevel, TurnsAreMeansOfTheirOwn) {
  const Segments completions({4}, kCpu), turns({2, 2}, kCpu);
  const at::Tensor log_ratio = doubles({std::log(2.0), std::log(8.0), 0, std::log(9.0)});
  expect_all_near(ratio_at_level("turn", log_ratio, completions, &turns), {4, 4, 3, 3});
}

TEST(RatioLevel, GradientsAreSlopes) {
  const RatioCase test;
  for (const char* level : {"token", "sequence", "sequence_mean", "sequence_product", "turn"}) {
    SCOPED_TRACE(level);
    expect_gradient_is_slope([&](const at::Tensor& x) { return test.ratio(level, x); }, test.log_ratio);
  }
}

TEST(RatioLevel, SequenceTokenHasTheGradientOfItsTokenAlone) {
  const RatioCase test;
  const auto second = [&](const at::Tensor& x) { return test.ratio("sequence_token", x)[1]; };
  expect_all_near(gradient_of(second, test.log_ratio), {0, 4, 0});
  const auto second_of_sequence = [&](const at::Tensor& x) { return test.ratio("sequence", x)[1]; };
  expect_all_near(gradient_of(second_of_sequence, test.log_ratio), {2, 2, 0});
}

TEST(RatioLevel, ExponentsAreClamped) {
  const Segments completions({2}, kCpu);
  const at::Tensor log_ratio = doubles({15, 15});
  const auto product = [&](const at::Tensor& x) { return sequence_product_ratio(x, completions); };
  expect_all_near(product(log_ratio) / std::exp(20.0), {1, 1});
  expect_all_near(gradient_of(product, log_ratio), {0, 0});
  expect_all_near(token_ratio(doubles({-30, 30})), {std::exp(-20.0), std::exp(20.0)}, 1e-6);
}

}  // namespace
}  // namespace cohort
