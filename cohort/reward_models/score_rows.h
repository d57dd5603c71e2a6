// What rewards that are models do with a batch of rows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cohort/reward_models/scoring_model.h"
#include "cohort/rewards/reward.h"

namespace cohort {

constexpr int64_t kModelBatch = 16;  ///< rows that a call takes at most; changes no result

/// show(row) is the row's sequence, judge(index, scores) what comes of its scores. A row that `show` or the
/// model refuses by a UserError is kUnparsed; the others are scored together.
std::vector<RewardResult> score_rows(
    const ScoringModel& model, std::span<const RewardRow> rows,
    const std::function<ScoredSequence(const RewardRow&)>& show,
    const std::function<RewardResult(size_t, const std::vector<LabelScores>&)>& judge);

}  // namespace cohort
