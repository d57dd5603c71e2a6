// Where a run's files lie, who may write there, and which checkpoints it has.
//
//   config.toml  memory_plan.json  changes.jsonl  metrics.jsonl  timings.jsonl  events.out.tfevents.cohort
//   completions.jsonl  completions.index  completions/00000001.jsonl.zst ...
//   rollbacks.jsonl  rollbacks/1/ ...
//   checkpoints/step-00000100/ ...  batches/step-00000100.batch ...  best/  final/  critic/
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/config_io.h"
#include "cohort/core/json.h"
#include "cohort/rl/batch.h"

namespace cohort {

/// Holds the run's lock: one process at a time writes to a run. Movable; the lock goes with the last owner.
class RunDirectory {
 public:
  /// Begins a run: makes the directory and writes `config_toml`, the time and the fingerprints of the files
  /// that the settings lead to. Throws ConfigError when a run is there already.
  static RunDirectory create(const std::filesystem::path& root, const std::string& config_toml,
                             const std::tm& start, const Json& files = Json::object());

  /// Continues a run. Throws ConfigError when there is none.
  static RunDirectory resume(const std::filesystem::path& root);

  /// A run that another process writes to: this one only reads. Throws ConfigError when there is none.
  static RunDirectory read(const std::filesystem::path& root);

  /// The time that `create` was given. Throws FormatError when it can't be read.
  static std::tm start_of(const std::filesystem::path& root);

  /// The fingerprints that `create` was given; null where the run has none, as those of earlier versions.
  static Json files_of(const std::filesystem::path& root);

  /// Takes new settings: appends each change, with the step that it comes after, to changes.jsonl and
  /// replaces config.toml and the fingerprints.
  void change_settings(const std::vector<SettingChange>& changes, const std::string& config_toml,
                       const Json& files) const;

  /// Throws ConfigError if the run at `root` wrote a checkpoint and none is left: it can't go on.
  static void check_checkpoints(const std::filesystem::path& root);

  /// Whether `create` got as far as a config.toml there.
  static bool holds_run(const std::filesystem::path& root);

  RunDirectory(RunDirectory&& other) noexcept : root_(std::move(other.root_)), lock_(other.lock_) {
    other.lock_ = -1;
  }
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path config_file() const { return root_ / "config.toml"; }
  std::filesystem::path changes_file() const { return root_ / "changes.jsonl"; }
  std::filesystem::path start_file() const { return root_ / ".start"; }
  std::filesystem::path files_file() const { return root_ / ".files.json"; }
  std::filesystem::path memory_plan_file() const { return root_ / "memory_plan.json"; }
  std::filesystem::path saved_file() const { return root_ / ".saved"; }
  std::filesystem::path metrics_file() const { return root_ / "metrics.jsonl"; }
  std::filesystem::path timings_file() const { return root_ / "timings.jsonl"; }
  std::filesystem::path completions_file() const { return root_ / "completions.jsonl"; }
  std::filesystem::path events_file() const { return root_ / "events.out.tfevents.cohort"; }
  std::filesystem::path rollbacks_file() const { return root_ / "rollbacks.jsonl"; }
  std::filesystem::path rollback_folder(int64_t count) const {
    return root_ / "rollbacks" / std::to_string(count);
  }
  std::filesystem::path best_model() const { return root_ / "best"; }
  std::filesystem::path final_model() const { return root_ / "final"; }
  std::filesystem::path final_critic() const { return root_ / "critic"; }

  /// Leaves no run here, after one that was refused before its first step: `create` may begin another. An
  /// empty metrics.jsonl stays, which says that no step was taken. Does nothing where there are metrics.
  void withdraw() const;

  /// checkpoints/step-<step in 8 digits>.
  std::filesystem::path checkpoint(int64_t step) const;

  /// Writes batches/step-<step in 8 digits>.batch.
  void write_batch(const Batch& batch) const;

  /// The same paths of a run that this process does not write to.
  static std::filesystem::path checkpoint_in(const std::filesystem::path& root, int64_t step);
  static std::filesystem::path batch_in(const std::filesystem::path& root, int64_t step);

  /// The steps of all batches of a run, ascending.
  static std::vector<int64_t> batch_steps(const std::filesystem::path& root);

  /// Says that the batch of `step` is missing, and how runs keep it; empty if it is there.
  static std::string missing_batch(const std::filesystem::path& root, int64_t step);

  /// Says that the checkpoint after `step` is missing, and how runs keep it; empty if it is there.
  static std::string missing_checkpoint(const std::filesystem::path& root, int64_t step);

  /// Deletes all batches but that of `step`.
  void keep_one_batch(int64_t step) const;

  /// Where `checkpoint(step)` is written before publish_directory gives it its name.
  std::filesystem::path temporary_checkpoint(int64_t step) const;

  /// The steps of all complete checkpoints, ascending.
  std::vector<int64_t> checkpoint_steps() const;

  /// Marks, once and for good, that the run has written a checkpoint.
  void mark_saved() const;

  /// Retires all checkpoints but the `count` newest and those of the steps `kept`; deletes leftovers.
  void keep_newest_checkpoints(int64_t count, const std::vector<int64_t>& kept = {}) const;

  /// Deletes checkpoints that killed processes left half-written or half-deleted.
  void delete_leftovers() const;

 private:
  /// Without a lock it only reads.
  RunDirectory(const std::filesystem::path& root, bool locks);

  std::filesystem::path root_;
  int lock_ = -1;
};

}  // namespace cohort
