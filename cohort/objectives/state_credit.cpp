#include "cohort/objectives/state_credit.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/objectives/token_credit.h"

namespace cohort {
namespace {

/// Calls visit(begin, end) for the steps of each completion within [begin, end).
template <typename Visit>
void for_each_completion(const StateSteps& steps, int64_t begin, int64_t end, Visit visit) {
  for (int64_t last = begin; begin < end; begin = last) {
    while (last < end && steps.completions[last] == steps.completions[begin]) ++last;
    visit(begin, last);
  }
}

/// The discounted returns of the steps [begin, end), one group.
std::vector<double> step_returns(const StateSteps& steps, int64_t begin, int64_t end, double gamma) {
  std::vector<double> returns(end - begin);
  for_each_completion(steps, begin, end, [&](int64_t first, int64_t last) {
    double to_come = 0.0;
    for (int64_t k = last - 1; k >= first; --k) {
      to_come = steps.rewards[k] + gamma * to_come;
      returns[k - begin] = to_come;
    }
  });
  return returns;
}

struct StateValue {
  double sum = 0.0;
  double count = 0.0;
};

/// Values of the states of the steps [begin, end), one group.
std::vector<double> state_values(const StateSteps& steps, int64_t begin, int64_t end, double gamma) {
  std::map<int64_t, StateValue> values;
  const std::vector<double> returns = step_returns(steps, begin, end, gamma);
  for_each_completion(steps, begin, end, [&](int64_t first, int64_t last) {
    for (int64_t k = last - 1; k >= first; --k) {
      StateValue& value = values[steps.states[k]];
      value.sum += returns[k - begin];
      value.count += 1.0;
    }
  });
  std::vector<double> result;
  for (int64_t k = begin; k < end; ++k) {
    const StateValue& value = values[steps.states[k]];
    result.push_back(value.sum / value.count);
  }
  return result;
}

}  // namespace

std::vector<double> state_group_advantages(const StateSteps& steps, double gamma, double lambda) {
  COHORT_CHECK(steps.completions.size() == steps.rewards.size() &&
               steps.states.size() == steps.rewards.size());
  std::vector<double> advantages;
  for_each_group(steps.rewards, steps.ends, [&](size_t, int64_t begin, std::span<const double> group) {
    const int64_t end = begin + static_cast<int64_t>(group.size());
    const std::vector<double> values = state_values(steps, begin, end, gamma);
    for_each_completion(steps, begin, end, [&](int64_t first, int64_t last) {
      const auto own =
          generalised_advantages(steps.rewards.subspan(first, last - first),
                                 std::span(values).subspan(first - begin, last - first), gamma, lambda);
      advantages.insert(advantages.end(), own.begin(), own.end());
    });
  });
  return advantages;
}

std::vector<double> anchor_state_advantages(const StateSteps& steps, double gamma,
                                            const std::string& baseline, const ScaleOptions& scale) {
  COHORT_CHECK(steps.completions.size() == steps.rewards.size() &&
               steps.states.size() == steps.rewards.size());
  std::vector<double> advantages(steps.rewards.size());
  for_each_group(steps.rewards, steps.ends, [&](size_t, int64_t begin, std::span<const double> group) {
    const int64_t end = begin + std::ssize(group);
    const std::vector<double> returns = step_returns(steps, begin, end, gamma);
    std::vector<int64_t> order(group.size());  // state after state
    std::iota(order.begin(), order.end(), begin);
    std::ranges::stable_sort(order, {}, [&](int64_t k) { return steps.states[k]; });
    std::vector<double> sorted;
    std::vector<int64_t> ends;
    for (size_t i = 0; i < order.size(); ++i) {
      sorted.push_back(returns[order[i] - begin]);
      if (i + 1 == order.size() || steps.states[order[i]] != steps.states[order[i + 1]])
        ends.push_back(std::ssize(sorted));
    }
    const ScoredGroups states{.scores = sorted, .ends = ends};
    const std::vector<double> own = scaled_scores(centred_scores(states, baseline), states, scale);
    for (size_t i = 0; i < order.size(); ++i) advantages[order[i]] = own[i];
  });
  return advantages;
}

}  // namespace cohort
