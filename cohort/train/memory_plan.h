// Peak memory, counted before the first step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/train/packing.h"

namespace cohort {

/// Bytes by what holds them, in the order of the report.
struct MemoryPlan {
  using Parts = std::vector<std::pair<std::string, int64_t>>;
  Parts always;
  Parts sampling;  ///< in addition, one after the other:
  Parts updating;

  int64_t total() const;

  /// "1.2 GiB: weights 0.3 GiB, ..., and KV cache ... while sampling or ... while updating"; the parts that
  /// take something.
  std::string describe() const;
};

/// What of a step is recorded: of each of up to so many rows these parts.
struct RecordPlan {
  int64_t rows = 0;
  RecordedParts parts = RecordedParts::kAll;
  bool covers_step = true;  ///< whatever a step draws finds room
};

/// What decides the size of a training step.
struct StepShape {
  int64_t longest_sequence = 0;                  ///< prompt and completion, in tokens
  int64_t rows = 0;                              ///< of the whole step
  int64_t tokens_per_microbatch = 0;             ///< the setting (microbatch_rows)
  int64_t largest_group = 0;                     ///< rows of a group, at most
  std::optional<EqualGroups> equal_groups = {};  ///< what is trained, where lengths are known beforehand
  int64_t cache_pages = 0;                       ///< of the sampler; 0 without one
  int64_t num_sequences = 0;                     ///< that it draws tokens for at once, at most
  RecordPlan record = {};  ///< what the update takes of what the sampler computed (plan_record)
  bool recompute = false;
  bool has_reference = false;          ///< a second, frozen copy of the model; of adapters none is needed
  bool has_adapted_reference = false;  ///< but with an adapter that the run began with
  const Decoder* critic = nullptr;     ///< a second trained model, updated before the policy
  int64_t reward_bytes = 0;            ///< of the rewards that are models, at most
  int64_t loaded_reward_bytes = 0;     ///< what of that is in memory already
  bool is_side_by_side = true;         ///< micro-batches go through for_each_microbatch
};

/// What is recorded of a step of `decoder` (ActivationRecord), which draws at most `num_rollouts` rollouts of
/// up to `rows` rows: everything, if one of them takes no more than a sixteenth of the machine's memory; else
/// what saves about a quarter as much, if that takes no more than a seventieth; as many of them as fit.
RecordPlan plan_record(const Decoder& decoder, int64_t rows, int64_t num_rollouts = 1);

/// The rows of GRPO's micro-batches: the setting, or, where it is 0, what makes products nearly as fast as
/// any number does: 2,560 rows, which several groups share while half a GiB has room for their activations.
MicrobatchRows microbatch_rows(int64_t tokens_per_microbatch, const Decoder& decoder, bool recompute);

/// The most that training `decoder` with AdamW takes at once, within a tenth; models and moments are loaded,
/// so that the rest of what is resident is the program. The step's rows bound it: it is reached when all
/// completions take their full length.
MemoryPlan plan_memory(const Decoder& decoder, const StepShape& step);

/// The most that sampling alone takes at once, with `num_sequences` completions alive.
MemoryPlan plan_sampling_memory(const Decoder& decoder, int64_t cache_pages, int64_t num_sequences);

/// Says what is planned, and warns where the machine has less.
void report_memory(const MemoryPlan& plan);

}  // namespace cohort
