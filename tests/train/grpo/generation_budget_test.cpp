// How many completions each prompt has.
#include "cohort/train/grpo/generation_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace cohort {
namespace {

using Sizes = std::vector<int64_t>;

double value_of(const std::vector<double>& success, const Sizes& sizes) {
  double value = 0.0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double p = success[i], n = static_cast<double>(sizes[i]);
    value += (1.0 - std::pow(p, n) - std::pow(1.0 - p, n)) * p * (1.0 - p) * (1.0 - p);
  }
  return value;
}

/// The largest value of all divisions.
double best_value(const std::vector<double>& success, int64_t total, int64_t most) {
  double best = 0.0;
  Sizes sizes;
  const std::function<void(int64_t)> divide = [&](int64_t left) {
    if (sizes.size() == success.size()) {
      if (left == 0) best = std::max(best, value_of(success, sizes));
      return;
    }
    for (int64_t size = 2; size <= std::min(most, left); ++size) {
      sizes.push_back(size);
      divide(left - size);
      sizes.pop_back();
    }
  };
  divide(total);
  return best;
}

TEST(GenerationBudget, IsTheBestOfAllDivisions) {
  const std::vector<std::vector<double>> cases{
      {0.1, 0.9, 0.5, 0.3}, {0.01, 0.02, 0.99, 0.98}, {0.5, 0.5, 0.4, 0.6}, {0.25, 0.001, 0.7, 0.25}};
  for (const std::vector<double>& success : cases) {
    for (const int64_t total : {8, 13, 24, 32}) {
      const Sizes sizes = divide_generations(success, total, 8);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), total);
      EXPECT_NEAR(value_of(success, sizes), best_value(success, total, 8), 1e-12) << total;
    }
  }
}

TEST(GenerationBudget, IsEvenAmongEqualPrompts) {
  EXPECT_EQ(divide_generations(std::vector<double>{0.5, 0.5, 0.5}, 12, 16), (Sizes{4, 4, 4}));
  EXPECT_EQ(divide_generations(std::vector<double>{0.5, 0.5, 0.5}, 13, 16), (Sizes{5, 4, 4}));
}

TEST(SuccessRates, CountOlderVisitsHalf) {
  SuccessRates rates;
  EXPECT_EQ(rates.estimate("a"), 0.5);
  rates.add("a", 3, 4);
  EXPECT_EQ(rates.estimate("a"), 4.0 / 6.0);
  rates.add("a", 0, 6);
  EXPECT_EQ(rates.estimate("a"), (1.0 + 1.5) / (2.0 + 2.0 + 6.0));
  EXPECT_EQ(rates.estimate("b"), 0.5);
  SuccessRates resumed;
  resumed.add("b", 1, 1);
  resumed.load(Json::parse(rates.save().dump()));
  EXPECT_EQ(resumed.estimate("a"), rates.estimate("a"));
  EXPECT_EQ(resumed.estimate("b"), 0.5);
}

}  // namespace
}  // namespace cohort
