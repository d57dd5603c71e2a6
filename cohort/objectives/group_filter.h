// Completions that are taken out of a group before its statistics. nan is a score that is none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// [N] 1 for the completions of each group that are best by `metric` among those with a score, k[g] of group
/// g: "length", the shortest; "reward_per_token", the highest score / length (an empty completion counts one
/// token). The first of equals is kept. Groups of at most k keep all (GFPO, arXiv:2508.09726).
std::vector<uint8_t> best_of_groups(std::span<const double> scores, std::span<const int64_t> ends,
                                    std::span<const int64_t> lengths, std::span<const int64_t> k,
                                    const std::string& metric);

/// How many to keep of a group by its difficulty (GFPO's adaptive difficulty, arXiv:2508.09726): 4 where its
/// mean reward is above three quarters of `seen_means`, those of earlier groups; 6 above half of them; 8
/// otherwise, and while fewer than 4 are known.
int64_t adaptive_group_k(double mean_reward, std::span<const double> seen_means);

/// [N] 0 for the first completion of each group whose score is the group's median, 1 for the others: one a
/// group of an odd number of scores, none in one of an even number (MC-GRPO,
/// arXiv:2601.22582).
std::vector<uint8_t> without_pivots(std::span<const double> scores, std::span<const int64_t> ends);

}  // namespace cohort
