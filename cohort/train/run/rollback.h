// A run that goes back to a checkpoint after an alarm: what it leaves behind, and which checkpoints count
// since.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cohort/records/run_directory.h"

namespace cohort {

/// A line of rollbacks.jsonl.
struct Rollback {
  int64_t step = 0;     ///< after which the run went back
  int64_t to_step = 0;  ///< of the checkpoint that it went back to
  std::string reason;
  std::optional<double> best_score;  ///< of the evaluations until then, whose model is in best/
};

/// All of a run, in order.
std::vector<Rollback> rollbacks_of(const RunDirectory& run);

/// Copies the lines that metrics.jsonl, timings.jsonl and completions.jsonl have of steps after `to_step`
/// into rollbacks/COUNT/. Returns the sizes of the files without them, by the names in a checkpoint.
Json copy_lines_after(const RunDirectory& run, int64_t to_step, int64_t count);

/// Adds the line, for good. From now on checkpoints after `to_step` count no more.
void write_rollback(const RunDirectory& run, const Rollback& rollback);

/// Moves the batches and the samples that were not finite of steps after the newest rollback's `to_step` into
/// its folder, and retires the checkpoints after it. May be repeated.
void leave_steps_after(const RunDirectory& run, int64_t to_step, int64_t count);

/// The newest checkpoint of at most `up_to` that belongs to what the run goes on from; -1: none. Throws
/// FormatError if lines of rollbacks.jsonl are missing.
int64_t newest_on_branch(const RunDirectory& run, int64_t up_to = std::numeric_limits<int64_t>::max());

}  // namespace cohort
