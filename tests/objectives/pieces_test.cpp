// ratio.h, clip.h and kl.h against hand arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cohort/objectives/clip.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/ratio.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

at::Tensor gradient(const at::Tensor& at_point,
                    const std::function<at::Tensor(const at::Tensor&)>& function) {
  const at::Tensor leaf = at_point.clone().requires_grad_();
  function(leaf).sum().backward();
  return leaf.grad();
}

void expect_near(const at::Tensor& actual, const std::vector<double>& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i].item<double>(), expected[i], tolerance) << i;
}

TEST(Ratio, ClampedAndExactlyOneOnPolicy) {
  const at::Tensor old_logprobs = doubles({-1.0, -2.0, -0.1, -90.0});
  const at::Tensor policy = doubles({-1.0, -1.5, -70.0, -1.0});
  expect_near(importance_ratio(policy, old_logprobs), {1.0, std::exp(0.5), std::exp(-20.0), std::exp(20.0)},
              1e-6);
  expect_near(gradient(policy, [&](const at::Tensor& p) { return importance_ratio(p, old_logprobs); }),
              {1.0, std::exp(0.5), 0.0, 0.0});
  const at::Tensor same = at::tensor(std::vector<float>{-3.1f, -0.2f});
  EXPECT_TRUE(at::equal(importance_ratio(same, same), at::ones({2})));
}

TEST(Clip, EachSideOfEachSign) {
  const at::Tensor ratio = doubles({0.5, 1.0, 2.0, 0.5, 1.0, 2.0, 2.0});
  const at::Tensor advantages = doubles({1, 1, 1, -1, -1, -1, 0});
  const ClippedSurrogate surrogate = clipped_surrogate(ratio, advantages, 0.2, 0.28);
  expect_near(surrogate.loss, {-0.5, -1.0, -1.28, 0.8, 1.0, 2.0, 0.0});
  expect_near(surrogate.low_clipped.to(at::kDouble), {0, 0, 0, 1, 0, 0, 0});
  expect_near(surrogate.high_clipped.to(at::kDouble), {0, 0, 1, 0, 0, 0, 0});
  expect_near(
      gradient(ratio, [&](const at::Tensor& r) { return clipped_surrogate(r, advantages, 0.2, 0.28).loss; }),
      {-1, -1, 0, 0, 1, 1, 0});
}

TEST(Kl, ValueGradientAndClamp) {
  const at::Tensor ref = doubles({-1.0, -1.0, -1.0, -50.0});
  const at::Tensor policy = doubles({-1.0, -1.5, -0.5, -1.0});
  const double up = std::exp(0.5), down = std::exp(-0.5);
  expect_near(kl_k3(policy, ref), {0.0, up - 1.5, down - 0.5, std::exp(-20.0) + 19.0});
  expect_near(gradient(policy, [&](const at::Tensor& p) { return kl_k3(p, ref); }),
              {0.0, 1 - up, 1 - down, 0.0});
}

TEST(Kl, SmallDifferencesKeepTheirDigits) {
  // x = 2^-13 in float32: exp(x) - x - 1 would lose all digits of x^2 / 2 = 2^-27.
  const at::Tensor policy = at::tensor(std::vector<float>{-1.0f});
  const double x = std::ldexp(1.0, -13);
  EXPECT_NEAR(kl_k3(policy, policy + x).item<double>() / (x * x / 2), 1.0, 2e-3);
}

}  // namespace
}  // namespace cohort
