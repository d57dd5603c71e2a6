#include "cohort/train/grpo/generation_budget.h"

#include <cmath>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr int64_t kFewest = 2;

/// What one more completion adds to the value of a group of `size`.
double gain(double p, int64_t size) {
  const auto n = static_cast<double>(size);
  const double grown = std::pow(p, n) * (1.0 - p) + std::pow(1.0 - p, n) * p;
  return grown * p * (1.0 - p) * (1.0 - p);
}

}  // namespace

// Each further completion of a prompt adds less than the one before, so that taking the best one by one is
// the best of all divisions.
std::vector<int64_t> divide_generations(std::span<const double> success, int64_t total, int64_t most) {
  const auto num_prompts = std::ssize(success);
  COHORT_CHECK(kFewest * num_prompts <= total && total <= most * num_prompts);
  std::vector<int64_t> sizes(success.size(), kFewest);
  for (int64_t left = total - kFewest * num_prompts; left > 0; --left) {
    int64_t best = -1;
    double best_gain = -1.0;
    for (int64_t i = 0; i < num_prompts; ++i) {
      if (sizes[i] == most) continue;
      const double own = gain(success[i], sizes[i]);
      if (own > best_gain || (own == best_gain && sizes[i] < sizes[best])) {
        best = i;
        best_gain = own;
      }
    }
    ++sizes[best];
  }
  return sizes;
}

double SuccessRates::estimate(const std::string& prompt_id) const {
  const auto found = prompts_.find(prompt_id);
  const Counts counts = found != prompts_.end() ? found->second : Counts{};
  return (1.0 + counts.successes) / (2.0 + counts.completions);
}

void SuccessRates::add(const std::string& prompt_id, int64_t num_successes, int64_t num_completions) {
  Counts& counts = prompts_[prompt_id];
  counts.successes = counts.successes / 2.0 + static_cast<double>(num_successes);
  counts.completions = counts.completions / 2.0 + static_cast<double>(num_completions);
}

Json SuccessRates::save() const {
  Json state = Json::array();
  for (const auto& [id, counts] : prompts_) state.push_back({id, counts.successes, counts.completions});
  return state;
}

void SuccessRates::load(const Json& state) {
  prompts_.clear();
  for (const Json& prompt : state)
    prompts_[prompt.at(0).get<std::string>()] = {prompt.at(1).get<double>(), prompt.at(2).get<double>()};
}

}  // namespace cohort
