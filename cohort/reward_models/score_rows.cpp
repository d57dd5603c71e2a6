#include "cohort/reward_models/score_rows.h"

#include "cohort/core/error.h"

namespace cohort {

std::vector<RewardResult> score_rows(
    const ScoringModel& model, std::span<const RewardRow> rows,
    const std::function<ScoredSequence(const RewardRow&)>& show,
    const std::function<RewardResult(size_t, const std::vector<LabelScores>&)>& judge) {
  std::vector<RewardResult> results(rows.size());
  std::vector<ScoredSequence> sequences;
  std::vector<size_t> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    try {
      ScoredSequence sequence = show(rows[i]);
      model.check(sequence);
      sequences.push_back(std::move(sequence));
      places.push_back(i);
    } catch (const UserError& error) {
      results[i] = {0.0, RewardStatus::kUnparsed, str(rows[i].prompt.id, ": ", error.what())};
    }
  }
  const std::vector<std::vector<LabelScores>> scores = model.score(sequences);
  for (size_t k = 0; k < places.size(); ++k) results[places[k]] = judge(places[k], scores[k]);
  return results;
}

}  // namespace cohort
