// Peak memory, counted before the first step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/train/run/packing.h"

namespace cohort {

class RunDirectory;

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

/// Which parts of which rows are recorded; at most `rows` rows.
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
  int64_t gradient_copies = 0;         ///< of slots that are added up (dist/gradient_sum.h)
  int64_t num_processes = 1;           ///< that share out moments and masters
  bool has_whole_masters = false;      ///< but each of them has all of the policy's masters
  int64_t exchange_bytes = 0;          ///< of gradients on their way between processes
};

/// What a step of `decoder` records (ActivationRecord) if it draws at most `num_rollouts` rollouts of up to
/// `rows` rows. All parts are recorded if one rollout takes at most a sixteenth of the machine's memory.
/// Otherwise the MLP's last products are recorded if they take at most a seventieth.
RecordPlan plan_record(const Decoder& decoder, int64_t rows, int64_t num_rollouts = 1);

/// The rows of GRPO's micro-batches: the setting, or 2,560 if it is 0. More rows hardly speed up products.
/// Several groups share a micro-batch while half a GiB holds their activations.
MicrobatchRows microbatch_rows(int64_t tokens_per_microbatch, const Decoder& decoder, bool recompute);

/// The most that training `decoder` with AdamW takes at once, within a tenth; models and moments are loaded,
/// so that the rest of what is resident is the program. The step's rows bound it: it is reached when all
/// completions take their full length.
MemoryPlan plan_memory(const Decoder& decoder, const StepShape& step);

/// The most that sampling alone takes at once, with `num_sequences` completions alive.
MemoryPlan plan_sampling_memory(const Decoder& decoder, int64_t cache_pages, int64_t num_sequences);

/// Throws ConfigError if the weights, gradients and moments of so many processes on the CPU take more than
/// the machine has. Whatever else a run takes depends on what it draws.
void check_memory(const MemoryPlan& plan, int64_t num_processes = 1);

/// Says what is planned, and warns where the machine has less than so many processes take. Writes the plan's
/// bytes to memory_plan.json of `run`, for a viewer; null writes nothing.
void report_memory(const MemoryPlan& plan, const RunDirectory* run, int64_t num_processes = 1);

}  // namespace cohort
