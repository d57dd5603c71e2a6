// The figures of a run: metrics.jsonl (what was learnt; the same bytes for the same seed), timings.jsonl
// (what differs from machine to machine) and TensorBoard events with both.
#pragma once

#include "cohort/core/jsonl_writer.h"
#include "cohort/records/run_directory.h"
#include "cohort/records/tensorboard.h"

namespace cohort {

/// Cuts a record back to the size that a checkpoint knows. One that was deleted since goes on from here, with
/// a warning.
void go_back(AppendFile& file, int64_t size);

class MetricsLog {
 public:
  /// Opens the files of `run` for appending.
  explicit MetricsLog(const RunDirectory& run);

  /// Appends a line `{"step": step, ...}` to metrics.jsonl and one to timings.jsonl, and hands them to the
  /// operating system. A value that is not finite becomes null; empty `metrics` or `timings` write no line.
  /// Wall time: seconds since 1970.
  void write(int64_t step, const Metrics& metrics, const Metrics& timings, double wall_time_s);

  /// The sizes of the files, for a checkpoint, once their content is on the disk.
  Json save();

  /// Cuts metrics.jsonl and timings.jsonl to `sizes`, and the events to theirs if they have so many bytes.
  void cut_to(const Json& sizes, int64_t events);

  /// Cuts the files back to what `save` returned; an empty object empties them.
  void load(const Json& sizes);

 private:
  JsonlWriter metrics_;
  JsonlWriter timings_;
  TensorBoardWriter events_;
};

}  // namespace cohort
