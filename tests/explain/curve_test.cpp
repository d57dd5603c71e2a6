#include "cohort/explain/curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/explain/run_builder.h"

namespace cohort {
namespace {

Curve curve_of(const std::vector<double>& values) {
  FigureColumn column;
  for (size_t i = 0; i < values.size(); ++i) column.steps.push_back(static_cast<int64_t>(10 * (i + 1)));
  column.values = values;
  return Curve(column);
}

TEST(Curve, LeavesNullsOut) {
  const Curve curve = curve_of({1.0, std::nan(""), 3.0, INFINITY, 5.0});
  EXPECT_EQ(curve.values(), (std::vector<double>{1.0, 3.0, 5.0}));
  EXPECT_EQ(curve.steps(), (std::vector<int64_t>{10, 30, 50}));
  EXPECT_EQ(curve.sum(), 9.0);
  EXPECT_EQ(curve.from(30).values(), (std::vector<double>{3.0, 5.0}));
}

TEST(Curve, WindowsHaveMeanMedianAndError) {
  // Differences of neighbors 1, 1, 6: noise sqrt(38 / 6); deviation of the window sqrt(12.5).
  const Curve curve = curve_of({1.0, 2.0, 3.0, 9.0});
  EXPECT_NEAR(curve.noise(), std::sqrt(38.0 / 6.0), 1e-12);
  const CurveWindow all = curve.all();
  EXPECT_EQ(all.mean, 3.75);
  EXPECT_EQ(all.median, 2.5);
  EXPECT_EQ(all.count, 4U);
  EXPECT_EQ(all.first_step, 10);
  EXPECT_EQ(all.last_step, 40);
  EXPECT_NEAR(all.error, std::sqrt((7.5625 + 3.0625 + 0.5625 + 27.5625) / 3.0) / 2.0, 1e-12);
  EXPECT_NEAR(curve.window(0, 2).error, std::sqrt(38.0 / 6.0) / std::sqrt(2.0), 1e-12);  // by the noise
  EXPECT_EQ(curve.window(2, 2).count, 0U);
  EXPECT_EQ(curve.window(3, 99).count, 1U);
}

TEST(Curve, TheBestWindowIsFound) {
  const Curve curve = curve_of({0, 0, 5, 5, 5, 5, 0, 0, -3, -3, -3, -3});
  EXPECT_EQ(curve.window_length(), 4U);
  EXPECT_EQ(curve.highest().mean, 5.0);
  EXPECT_EQ(curve.highest().first_step, 30);
  EXPECT_EQ(curve.lowest().mean, -3.0);
  EXPECT_EQ(curve.lowest().first_step, 90);
  EXPECT_EQ(curve.first().mean, 2.5);
  EXPECT_EQ(curve.last().mean, -3.0);
}

TEST(Curve, ShortAndEmptyCurvesHaveWindows) {
  EXPECT_EQ(Curve().last().count, 0U);
  EXPECT_EQ(Curve().highest().count, 0U);
  EXPECT_TRUE(std::isinf(Curve().trend().error));
  const Curve two = curve_of({1.0, 3.0});
  EXPECT_EQ(two.first().mean, 2.0);
  EXPECT_EQ(two.last().mean, 2.0);
}

TEST(Curve, ATrendIsItsChangeWithAnError) {
  std::vector<double> straight, noise;
  for (int64_t i = 0; i < 100; ++i) {
    straight.push_back(0.02 * static_cast<double>(i));
    noise.push_back(noisy(constant(1.0), 0.1, 4)(i));
  }
  const CurveTrend rises = curve_of(straight).trend();
  EXPECT_NEAR(rises.change, 2.0, 1e-9);
  EXPECT_NEAR(rises.error, 0.0, 1e-9);
  const CurveTrend flat = curve_of(noise).trend();
  EXPECT_NEAR(flat.error, 0.1 * std::sqrt(12.0 / 100.0), 0.015);  // of ordinary least squares
  EXPECT_LT(std::abs(flat.change), 3.0 * flat.error);
}

TEST(Curve, ScoresAreInStandardErrors) {
  CurveWindow a, b;
  a.mean = 2.0;
  a.error = 0.3;
  b.mean = 1.0;
  b.error = 0.4;
  EXPECT_NEAR(standard_score(a, b), 2.0, 1e-12);
  a.error = b.error = 0.0;
  EXPECT_TRUE(std::isinf(standard_score(a, b)));
  EXPECT_EQ(standard_score(a, a), 0.0);
}

}  // namespace
}  // namespace cohort
