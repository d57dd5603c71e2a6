#include "cohort/train/grpo/rollout_selection.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// How many of the `count` numbers with the largest variance are among the highest of the ascending `values`;
/// the others are the lowest.
int64_t best_number_of_high(const std::vector<double>& values, int64_t count) {
  const auto size = static_cast<int64_t>(values.size());
  int64_t best = 0;
  double best_variance = -1.0;
  for (int64_t num_high = 0; num_high <= count; ++num_high) {
    double mean = 0.0, variance = 0.0;
    const auto value = [&](int64_t i) { return values[i < count - num_high ? i : size - count + i]; };
    for (int64_t i = 0; i < count; ++i) mean += value(i) / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) variance += (value(i) - mean) * (value(i) - mean);
    // Rounding must not decide between sets of the same numbers.
    if (variance > best_variance + 1e-12 * std::abs(best_variance)) {
      best = num_high;
      best_variance = variance;
    }
  }
  return best;
}

}  // namespace

std::vector<int64_t> most_varied(std::span<const double> rewards, int64_t count) {
  COHORT_CHECK(count > 0);
  std::vector<int64_t> order, without_reward;
  order.reserve(rewards.size());
  for (int64_t i = 0; i < std::ssize(rewards); ++i)
    (std::isnan(rewards[i]) ? without_reward : order).push_back(i);
  if (const int64_t missing = count - std::ssize(order); missing >= 0) {
    const int64_t taken = std::min(missing, std::ssize(without_reward));
    order.insert(order.end(), without_reward.begin(), without_reward.begin() + taken);
    std::ranges::sort(order);
    return order;
  }
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return rewards[i]; });
  std::vector<double> values;
  values.reserve(order.size());
  for (const int64_t i : order) values.push_back(rewards[i]);
  const int64_t num_high = best_number_of_high(values, count);
  // What is not among the lowest, from the highest on, the first of equal ones first.
  std::stable_sort(order.begin() + (count - num_high), order.end(),
                   [&](int64_t a, int64_t b) { return rewards[a] > rewards[b]; });
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

bool is_settled(const std::string& adaptive_sampling, int64_t num_positive, int64_t num_others,
                int64_t keep) {
  if (adaptive_sampling == "positive_focused") return num_positive >= 1;
  COHORT_CHECK(adaptive_sampling == "balanced", adaptive_sampling);
  return num_positive >= keep / 2 && num_others >= keep - keep / 2;
}

std::vector<int64_t> groups_to_train_on(std::span<const uint8_t> differs, int64_t count) {
  std::vector<int64_t> chosen;
  chosen.reserve(differs.size());
  for (const bool wanted : {true, false}) {
    for (int64_t g = 0; g < std::ssize(differs); ++g) {
      if ((differs[g] != 0) == wanted && std::ssize(chosen) < count) chosen.push_back(g);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

int64_t prompts_to_draw(int64_t num_drawn, int64_t num_differing, int64_t prompts_per_step) {
  const int64_t missing = std::max<int64_t>(prompts_per_step - num_differing, 0);
  if (num_differing == 0) return prompts_per_step;
  const int64_t expected = (missing * num_drawn + num_differing - 1) / num_differing;
  return std::min(expected, prompts_per_step);
}

void leave_out_groups(const std::vector<uint8_t>& differs, int64_t count, Batch& batch) {
  COHORT_CHECK(differs.size() == batch.groups.size() && batch.untrained.empty());
  std::vector<Group> drawn = std::move(batch.groups);
  batch.groups.clear();
  const std::vector<int64_t> chosen = groups_to_train_on(differs, count);
  auto next = chosen.begin();
  for (size_t g = 0; g < drawn.size(); ++g) {
    if (next != chosen.end() && *next == static_cast<int64_t>(g)) {
      batch.groups.push_back(std::move(drawn[g]));
      ++next;
    } else {
      const Untrained reason = differs[g] ? Untrained::kSurplus : Untrained::kNoDifference;
      batch.untrained.push_back({std::move(drawn[g]), reason});
    }
  }
}

void keep_most_varied(int64_t count, bool others_count, Batch& batch) {
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    Group& group = batch.groups[g];
    if (std::ssize(group.samples) <= count) continue;
    const std::vector<int64_t> kept = most_varied(rewards_of(group), count);
    std::vector<Sample> samples;
    UntrainedGroup others{
        {.prompt = group.prompt}, Untrained::kNotKept, others_count ? static_cast<int64_t>(g) : -1};
    auto next = kept.begin();
    for (int64_t i = 0; i < std::ssize(group.samples); ++i) {
      const bool is_kept = next != kept.end() && *next == i;
      if (is_kept) ++next;
      (is_kept ? samples : others.group.samples).push_back(std::move(group.samples[i]));
    }
    group.samples = std::move(samples);
    batch.untrained.push_back(std::move(others));
  }
}

}  // namespace cohort
