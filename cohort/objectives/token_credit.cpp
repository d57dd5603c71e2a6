#include "cohort/objectives/token_credit.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// In the order of their ends, none of which lies behind the last token.
void sort_steps(std::vector<StepScore>& steps, int64_t length) {
  for (StepScore& step : steps) {
    COHORT_CHECK(step.end >= 0);
    step.end = std::min(step.end, length - 1);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepScore& a, const StepScore& b) { return a.end < b.end; });
}

}  // namespace

std::vector<double> suffix_credit(std::vector<StepScore> steps, int64_t length, double gamma) {
  std::vector<double> credit(length, 0.0);
  if (length == 0) return credit;
  sort_steps(steps, length);
  double sum = 0.0;
  for (int64_t t = length - 1; t >= 0; --t) {
    for (; !steps.empty() && steps.back().end == t; steps.pop_back()) sum = steps.back().score + gamma * sum;
    credit[t] = sum;
  }
  return credit;
}

std::vector<double> segment_credit(std::vector<StepScore> steps, int64_t length) {
  std::vector<double> credit(length, 0.0);
  if (length == 0) return credit;
  sort_steps(steps, length);
  double own = 0.0;
  for (int64_t t = length - 1; t >= 0; --t) {
    if (!steps.empty() && steps.back().end == t) own = 0.0;
    for (; !steps.empty() && steps.back().end == t; steps.pop_back()) own += steps.back().score;
    credit[t] = own;
  }
  return credit;
}

std::vector<double> discounted_returns(double score, std::span<const double> penalties, int64_t length,
                                       double gamma) {
  COHORT_CHECK(penalties.empty() || static_cast<int64_t>(penalties.size()) == length);
  std::vector<double> returns(length, 0.0);
  double sum = 0.0;
  for (int64_t t = length - 1; t >= 0; --t) {
    const double reward = t == length - 1 ? score : 0.0;
    sum = reward - (penalties.empty() ? 0.0 : penalties[t]) + gamma * sum;
    returns[t] = sum;
  }
  return returns;
}

std::vector<double> generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                           double gamma, double lambda) {
  COHORT_CHECK(rewards.size() == values.size());
  std::vector<double> advantages(rewards.size(), 0.0);
  double next_value = 0.0, next_advantage = 0.0;
  for (size_t t = rewards.size(); t-- > 0;) {
    const double delta = rewards[t] + gamma * next_value - values[t];
    next_advantage = delta + gamma * lambda * next_advantage;
    next_value = values[t];
    advantages[t] = next_advantage;
  }
  return advantages;
}

double length_adaptive_lambda(double alpha, int64_t length) {
  if (length == 0) return 0.0;
  return std::max(1.0 - 1.0 / (alpha * static_cast<double>(length)), 0.0);
}

}  // namespace cohort
