// A run that goes back to a checkpoint after an alarm: what it leaves behind, and which checkpoints count
// since.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cohort/train/run/run_directory.h"

namespace cohort {

/// A line of rollbacks.jsonl.
struct Rollback {
  int64_t step = 0;     ///< after which the run went back
  int64_t to_step = 0;  ///< of the checkpoint that it went back to
  std::string reason;
};

/// All of a run, in order.
std::vector<Rollback> rollbacks_of(const RunDirectory& run);

/// Copies the lines that metrics.jsonl, timings.jsonl and completions.jsonl have after the checkpoint into
/// rollbacks/STEP/, and then adds the rollback to rollbacks.jsonl, for good.
void write_rollback(const RunDirectory& run, const Rollback& rollback);

/// The newest checkpoint of at most `up_to` that belongs to what the run goes on from; -1: none.
int64_t newest_on_branch(const RunDirectory& run, int64_t up_to = std::numeric_limits<int64_t>::max());

/// Retires all checkpoints after this step.
void retire_after(const RunDirectory& run, int64_t step);

}  // namespace cohort
