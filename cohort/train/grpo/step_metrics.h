// What a step looks like from outside: metrics (docs/metrics.md defines each) and the completions file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/run/metrics.h"

namespace cohort {

/// `reward`, `reward_std`, `frac_reward_zero_std`, `rewards/*`. NaN if too few samples have a reward.
Metrics reward_metrics(const Batch& step, const RewardSummary& summary);

/// `completions/*`.
Metrics length_metrics(std::span<const Group> groups);

/// Adds what a line of completions.jsonl says of a completion of several turns: `injected` spans, and with an
/// environment its `messages`, `opening` and `environment_failure`.
void add_episode(const Completion& completion, Json& row);

/// `episodes/*` and `tools/*` of completions with an environment.
Metrics episode_metrics(std::span<const Group> groups);

/// Conversations of an episode that are trained on; 0 without episodes.
double mean_branches(std::span<const Group> groups);

/// A warning about the episodes whose environment failed, with the first reason; empty if there are none.
std::string failed_episodes(std::span<const Group> groups);

/// `loss`, `entropy`, what the objective says of itself (`kl`, `ratio/*`, `clip_ratio/*`...), `sampling/*`,
/// `rows/*`.
Metrics loss_metrics(const LossResult& loss, const LossResult& first_loss, bool recompute);

/// For each reward an object with a sample's score, status, detail and steps.
Json reward_cells(const std::vector<std::string>& names, const std::vector<RewardResult>& cells);

/// One row per sequence: ids, text, rewards with status, advantage, log-probabilities. Where an episode
/// has branches, `branch` counts its rows from 0. Samples that are not trained on follow, with the reason in
/// `untrained` and without an advantage.
std::vector<Json> completion_rows(const Batch& step);

/// The completions of a micro-batch whose loss or gradient was not finite.
std::vector<Json> nonfinite_rows(const std::vector<Completion>& completions);

/// For the progress line: reward, rewards by name, length.
std::string summary(const Metrics& metrics);

}  // namespace cohort
