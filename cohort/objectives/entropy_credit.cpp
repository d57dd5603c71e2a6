#include "cohort/objectives/entropy_credit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

constexpr double kMinEntropy = 1e-8;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinEntropyRatio = 0.1;
constexpr double kMaxEntropyRatio = 10.0;

/// [N + 1] where each completion's tokens begin.
std::vector<int64_t> token_offsets(const TokenGroups& groups) {
  COHORT_CHECK(groups.lengths.size() == groups.scores.size());
  std::vector<int64_t> offsets{0};
  for (const int64_t length : groups.lengths) offsets.push_back(offsets.back() + length);
  COHORT_CHECK(offsets.back() == static_cast<int64_t>(groups.entropies.size()), offsets.back(), " tokens, ",
               groups.entropies.size(), " entropies");
  return offsets;
}

/// [N] mean entropies; nan without tokens or score.
std::vector<double> mean_entropies(const TokenGroups& groups) {
  const std::vector<int64_t> offsets = token_offsets(groups);
  std::vector<double> means(groups.scores.size(), kNone);
  for (size_t i = 0; i < means.size(); ++i) {
    if (groups.lengths[i] == 0 || std::isnan(groups.scores[i])) continue;
    const auto own = groups.entropies.subspan(offsets[i], groups.lengths[i]);
    means[i] = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
  }
  return means;
}

/// What the members weigh: entropies for right completions, their inverses for wrong ones.
double share_basis(double entropy, bool is_right) {
  const double floored = std::max(entropy, kMinEntropy);
  return is_right ? floored : 1.0 / floored;
}

/// Gives every member its signed reward; `entropies` are those of the members, all right or all wrong.
template <typename Assign>
void share_out(std::span<const double> entropies, bool is_right, const EntropyShaping& shaping,
               Assign assign) {
  double sum = 0.0;
  for (const double entropy : entropies) sum += share_basis(entropy, is_right);
  const double sign = is_right ? 1.0 : -1.0, count = static_cast<double>(entropies.size());
  for (size_t m = 0; m < entropies.size(); ++m) {
    const double share = count * share_basis(entropies[m], is_right) / sum;
    assign(m, sign * (shaping.outcome_weight + shaping.share_weight * share));
  }
}

/// Whether a completion is on the side of `is_right`; neither without a score.
bool is_of_kind(double score, bool is_right) { return !std::isnan(score) && (score > 0.0) == is_right; }

/// Normalises signed rewards of one group's members, nan where a member takes no part, which gives 0.
std::vector<double> normalised_kinds(std::span<const double> rewards, const EntropyShaping& shaping) {
  const std::string& statistics = shaping.statistics;
  COHORT_CHECK(statistics == "shares" || statistics == "group" || statistics == "signs", statistics);
  std::vector<double> result(rewards.size(), 0.0);
  const auto add_scores_of = [&](std::span<const double> members) {
    const std::vector<double> scores = standard_scores(members, shaping.ddof, shaping.epsilon);
    for (size_t m = 0; m < scores.size(); ++m) {
      if (!std::isnan(scores[m])) result[m] += scores[m];
    }
  };
  if (statistics == "group") {
    add_scores_of(rewards);
    return result;
  }
  for (const bool is_right : {true, false}) {
    std::vector<double> own(rewards.begin(), rewards.end());
    for (double& reward : own) {
      if (!std::isnan(reward) && !is_of_kind(reward, is_right))
        reward = shaping.sets_sides_apart() ? kNone : 0.0;
    }
    add_scores_of(own);
  }
  return result;
}

bool has_difference(const TokenGroups& groups, int64_t begin, int64_t end) {
  return spread_of(groups.scores.subspan(begin, end - begin), 0).differs();
}

}  // namespace

void EntropyShaping::describe(FieldVisitor& f) {
  f("entropy_outcome_weight", outcome_weight,
    "What the outcome itself weighs in gtpo and grpo_s (alpha_1 and beta_1 of arXiv:2508.04349).",
    at_least(0.0));
  f("entropy_share_weight", share_weight,
    "What the share by entropy weighs in gtpo and grpo_s (alpha_2 and beta_2 of arXiv:2508.04349).",
    at_least(0.0));
  f("entropy_statistics", statistics,
    "Over what gtpo and grpo_s normalise: shares, those of right and of wrong completions each over the "
    "whole group, 0 where a completion is of the other kind; group, all of the group together; signs, right "
    "and wrong completions apart, the paper's formula read literally, which loses which of them are right.",
    one_of({"shares", "group", "signs"}));
}

std::vector<double> gtpo_rewards(const TokenGroups& groups, const EntropyShaping& shaping) {
  const std::vector<int64_t> offsets = token_offsets(groups);
  std::vector<double> rewards(groups.entropies.size(), kNone);
  for_each_group(groups.scores, groups.ends, [&](size_t, int64_t begin, std::span<const double> group) {
    const auto own = groups.lengths.subspan(begin, group.size());
    const int64_t longest = own.empty() ? 0 : *std::max_element(own.begin(), own.end());
    for (const bool is_right : {true, false}) {
      for (int64_t t = 0; t < longest; ++t) {
        std::vector<int64_t> alive;
        std::vector<double> entropies;
        for (size_t i = 0; i < group.size(); ++i) {
          if (own[i] <= t || !is_of_kind(group[i], is_right)) continue;
          alive.push_back(offsets[begin + i] + t);
          entropies.push_back(groups.entropies[alive.back()]);
        }
        share_out(entropies, is_right, shaping, [&](size_t m, double reward) { rewards[alive[m]] = reward; });
      }
    }
  });
  return rewards;
}

std::vector<double> gtpo_advantages(const TokenGroups& groups, const EntropyShaping& shaping) {
  const std::vector<int64_t> offsets = token_offsets(groups);
  const std::vector<double> rewards = gtpo_rewards(groups, shaping);
  std::vector<double> advantages(rewards.size(), 0.0);
  int64_t begin = 0;
  for (const int64_t end : groups.ends) {
    if (has_difference(groups, begin, end)) {
      const auto own = std::span(rewards).subspan(offsets[begin], offsets[end] - offsets[begin]);
      std::ranges::copy(normalised_kinds(own, shaping), advantages.begin() + offsets[begin]);
    }
    begin = end;
  }
  return advantages;
}

std::vector<double> grpo_s_rewards(const TokenGroups& groups, const EntropyShaping& shaping) {
  const std::vector<double> means = mean_entropies(groups);
  std::vector<double> rewards(groups.scores.size(), kNone);
  for_each_group(groups.scores, groups.ends, [&](size_t, int64_t begin, std::span<const double> group) {
    for (const bool is_right : {true, false}) {
      std::vector<int64_t> members;
      std::vector<double> entropies;
      for (size_t i = 0; i < group.size(); ++i) {
        if (std::isnan(means[begin + i]) || !is_of_kind(group[i], is_right)) continue;
        members.push_back(begin + i);
        entropies.push_back(means[begin + i]);
      }
      share_out(entropies, is_right, shaping, [&](size_t m, double reward) { rewards[members[m]] = reward; });
    }
  });
  return rewards;
}

std::vector<double> grpo_s_advantages(const TokenGroups& groups, const EntropyShaping& shaping) {
  const std::vector<double> rewards = grpo_s_rewards(groups, shaping);
  std::vector<double> advantages(rewards.size(), 0.0);
  int64_t begin = 0;
  for (const int64_t end : groups.ends) {
    if (has_difference(groups, begin, end)) {
      const auto own = std::span(rewards).subspan(begin, end - begin);
      std::ranges::copy(normalised_kinds(own, shaping), advantages.begin() + begin);
    }
    begin = end;
  }
  return advantages;
}

std::vector<double> edge_advantages(std::span<const double> advantages, const TokenGroups& groups) {
  COHORT_CHECK(advantages.size() == groups.scores.size());
  const std::vector<double> means = mean_entropies(groups);
  std::vector<double> result(advantages.begin(), advantages.end());
  for_each_group(std::span(means), groups.ends, [&](size_t, int64_t begin, std::span<const double> group) {
    const double group_mean = spread_of(group, 0).mean;
    for (size_t i = 0; i < group.size(); ++i) {
      if (std::isnan(group[i]) || group_mean == 0.0) continue;
      result[begin + i] /= std::clamp(group[i] / group_mean, kMinEntropyRatio, kMaxEntropyRatio);
    }
  });
  return result;
}

}  // namespace cohort
