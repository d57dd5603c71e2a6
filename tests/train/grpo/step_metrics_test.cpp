#include "cohort/train/grpo/step_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace cohort {
namespace {

std::map<std::string, double> metrics_of(const LossResult& loss) {
  const Metrics metrics = loss_metrics(loss, loss, /*recompute=*/false);
  return {metrics.begin(), metrics.end()};
}

TEST(LossMetrics, AreMeansOverTheTokensThatWereForwarded) {
  LossResult loss;
  loss.num_forwarded_tokens = 4;
  loss.entropy_sum = 2.0;
  loss.logprob_difference_sum = 1.0;
  loss.logprob_difference_max = 0.75;
  const auto metrics = metrics_of(loss);
  EXPECT_EQ(metrics.at("entropy"), 0.5);
  EXPECT_EQ(metrics.at("sampling/sampling_logp_difference/mean"), 0.25);
  EXPECT_EQ(metrics.at("sampling/sampling_logp_difference/max"), 0.75);
}

TEST(LossMetrics, AreNothingWhereNoneWas) {
  const auto metrics = metrics_of({});
  for (const char* name :
       {"entropy", "sampling/sampling_logp_difference/mean", "sampling/sampling_logp_difference/max"})
    EXPECT_TRUE(std::isnan(metrics.at(name))) << name;
}

}  // namespace
}  // namespace cohort
