#include "cohort/train/scored_rollout.h"

#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage.h"
#include "cohort/train/rollout_selection.h"

namespace cohort {
namespace {

/// The completions and rewards of the places in `rows`, which are taken out of `group`.
UntrainedGroup take_rows(RolloutGroup& group, const RewardMatrix& rewards, const std::vector<int64_t>& rows,
                         int64_t place) {
  UntrainedGroup taken{{group.prompt, {}}, select_rows(rewards, rows), Untrained::kNotKept, place};
  taken.group.completions.reserve(rows.size());
  for (const int64_t row : rows) taken.group.completions.push_back(std::move(group.completions[row]));
  return taken;
}

}  // namespace

std::vector<RewardMatrix> drawn_rewards(const ScoredRollout& rollout) {
  std::vector<RewardMatrix> rewards = rollout.rewards;
  rewards.reserve(rewards.size() + rollout.untrained.size());
  for (const UntrainedGroup& untrained : rollout.untrained) rewards.push_back(untrained.rewards);
  return rewards;
}

RewardMatrix select_rows(const RewardMatrix& rewards, const std::vector<int64_t>& rows) {
  RewardMatrix result(std::ssize(rows), rewards.names());
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    for (int64_t c = 0; c < rewards.num_rewards(); ++c) result.at(i, c) = rewards.at(rows[i], c);
  }
  return result;
}

void append_rows(const RewardMatrix& more, RewardMatrix& rewards) {
  COHORT_CHECK(more.names() == rewards.names());
  RewardMatrix joined(rewards.num_completions() + more.num_completions(), rewards.names());
  for (int64_t i = 0; i < joined.num_completions(); ++i) {
    const int64_t behind = i - rewards.num_completions();
    for (int64_t c = 0; c < joined.num_rewards(); ++c)
      joined.at(i, c) = behind < 0 ? rewards.at(i, c) : more.at(behind, c);
  }
  rewards = std::move(joined);
}

std::vector<double> totals_or_nan(const RewardMatrix& rewards, const std::vector<double>& weights) {
  TotalRewards totals;
  append_total_rewards(rewards, weights, totals);
  for (size_t i = 0; i < totals.values.size(); ++i) {
    if (!totals.valid[i]) totals.values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return std::move(totals.values);
}

void leave_out_groups(const std::vector<uint8_t>& differs, int64_t count, ScoredRollout& rollout) {
  COHORT_CHECK(differs.size() == rollout.groups.size() && rollout.untrained.empty());
  std::vector<RolloutGroup> drawn = std::move(rollout.groups);
  std::vector<RewardMatrix> rewards = std::move(rollout.rewards);
  rollout.groups.clear();
  rollout.rewards.clear();
  const std::vector<int64_t> chosen = groups_to_train_on(differs, count);
  auto next = chosen.begin();
  for (size_t g = 0; g < drawn.size(); ++g) {
    if (next != chosen.end() && *next == static_cast<int64_t>(g)) {
      rollout.groups.push_back(std::move(drawn[g]));
      rollout.rewards.push_back(std::move(rewards[g]));
      ++next;
    } else {
      const Untrained reason = differs[g] ? Untrained::kSurplus : Untrained::kNoDifference;
      rollout.untrained.push_back({std::move(drawn[g]), std::move(rewards[g]), reason});
    }
  }
}

void keep_most_varied(int64_t count, bool others_count, ScoredRollout& rollout) {
  for (size_t g = 0; g < rollout.groups.size(); ++g) {
    RolloutGroup& group = rollout.groups[g];
    RewardMatrix& rewards = rollout.rewards[g];
    if (std::ssize(group.completions) <= count) continue;
    const std::vector<int64_t> kept = most_varied(totals_or_nan(rewards, rollout.weights), count);
    std::vector<int64_t> others;
    others.reserve(group.completions.size());
    auto next = kept.begin();
    for (int64_t i = 0; i < std::ssize(group.completions); ++i) {
      if (next != kept.end() && *next == i) {
        ++next;
      } else {
        others.push_back(i);
      }
    }
    const int64_t place = others_count ? static_cast<int64_t>(g) : -1;
    rollout.untrained.push_back(take_rows(group, rewards, others, place));
    group.completions = take_rows(group, rewards, kept, place).group.completions;
    rewards = select_rows(rewards, kept);
  }
}

}  // namespace cohort
