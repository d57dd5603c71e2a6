// A batch's tensors as plain numbers, checked against what the settings read. Legend as in
// advantage_algebra.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/scale.h"
#include "cohort/objectives/token_credit.h"

namespace cohort {

/// [size] the tensor's numbers in double precision, in order; empty when it is undefined.
std::vector<double> plain_numbers(const at::Tensor& tensor);

struct AdvantageBatch {
  int64_t num_completions = 0;
  std::vector<int64_t> ends;     ///< [P]
  std::vector<int64_t> lengths;  ///< [N]; empty where no setting reads them
  std::vector<int64_t> offsets;  ///< [N + 1] where each completion's tokens begin; empty like lengths
  std::vector<std::vector<double>> channels;  ///< [C][N] rewards, or [1][N] without several; nan: none
  std::vector<double> weights;                ///< [C]
  std::vector<double> totals;    ///< [N] weighted sums over what there is; nan where there is nothing
  std::vector<uint8_t> is_kept;  ///< [N]
  std::vector<int64_t> owners;   ///< [N] see AdvantageInput; empty: each itself
  std::vector<int64_t> group_k;  ///< [P] completions to keep; empty unless gfpo_k is set
  std::vector<double> entropies, values, greedy_scores;
  std::vector<double> kl_penalties;   ///< [M] beta * (old - reference); empty unless the rewards pay them
  std::vector<double> mean_logprobs;  ///< [N] old, over tokens; empty unless the baseline reads them
  std::vector<Fork> forks;            ///< [N]; empty unless the baseline reads them

  int64_t num_tokens() const { return offsets.empty() ? 0 : offsets.back(); }

  /// Gives completions without a score of their own that of their episode.
  template <typename Value>
  void share(std::vector<Value>& per_completion) const {
    for (size_t i = 0; i < owners.size(); ++i) per_completion[i] = per_completion[owners[i]];
  }

  int64_t owner_of(int64_t completion) const { return owners.empty() ? completion : owners[completion]; }

  /// [N] `totals`, an episode's for all of its completions.
  std::vector<double> shared_totals() const {
    std::vector<double> shared = totals;
    share(shared);
    return shared;
  }

  /// A completion's part of something per token.
  template <typename Value>
  std::span<Value> own(std::vector<Value>& per_token, int64_t completion) const {
    return std::span(per_token).subspan(offsets[completion], lengths[completion]);
  }
};

/// Throws ConfigError naming the input that a setting reads and that is missing or not finite, InternalError
/// for wrong shapes. Under process supervision `channels` and `totals` are empty: see read_steps.
AdvantageBatch read_batch(const AdvantageInput& input, const AdvantageConfig& config);

ScaleOptions scale_options(const AdvantageConfig& config);

/// [N] the scores minus the settings' baseline, by the settings' scale.
std::vector<double> normalised_scores(const ScoredGroups& groups, const AdvantageConfig& config);

/// The rewards of steps in one flat list, completion after completion.
struct StepList {
  std::vector<double> scores;
  std::vector<int64_t> completions;  ///< whose steps they are
  std::vector<int64_t> token_ends;   ///< their last tokens
  std::vector<int64_t> states;       ///< the states before them; empty without step_states
  std::vector<int64_t> ends;         ///< [P] where each group's steps end in this list
};

/// Steps with an end and a reward, of completions that are kept.
StepList read_steps(const AdvantageInput& input, const AdvantageBatch& batch);

}  // namespace cohort
