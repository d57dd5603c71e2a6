// completions.jsonl of a run. Once it is long, its lines go into a compressed file:
//
//   completions.jsonl                  the newest steps
//   completions/00000001.jsonl.zst     those from step 1 to the next file
//   completions.index                  a row of figures for each line, see completion_index.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/core/jsonl_writer.h"
#include "cohort/records/index_writer.h"
#include "cohort/records/run_directory.h"

namespace cohort {

/// Whenever the process ends, no line is lost, and none is read twice. All members throw FormatError naming
/// the file when the system refuses.
class CompletionsLog {
 public:
  /// Opens the files of a run. Lines are compressed once there are more than `max_bytes` of them. The index
  /// is kept up with the lines, and made from them where it does not fit.
  CompletionsLog(const RunDirectory& run, int64_t max_bytes);

  void write(const std::vector<Json>& rows);

  /// What a checkpoint after `step` has to know to come back to here: {"completions": size of the file,
  /// "completions_from": the first step that may be in it}. All lines are on the disk then.
  Json save(int64_t step);

  /// Goes back to what `save(step)` returned. Lines that were compressed since are in completions.jsonl
  /// again; with a warning, and with what there is, if someone has deleted some.
  void load(const Json& saved, int64_t step);

  /// Takes lines from the compressed files back, from those on that a checkpoint has in completions.jsonl.
  void restore_lines(const Json& saved);

  /// Cuts completions.jsonl to its first bytes.
  void truncate_to(int64_t bytes);

 private:
  void compress(int64_t first_step);
  void restore(const Json& saved);
  void go_back_to(const Json& saved, int64_t step);
  void delete_copies();

  std::filesystem::path path_, folder_;
  int64_t max_bytes_;
  int64_t from_ = 1;
  std::unique_ptr<JsonlWriter> file_;
  IndexWriter index_;
};

/// Calls f(line) for each completion of a run, or of one of its steps, in order. A run may write to the files
/// meanwhile. Throws FormatError for damaged files.
void for_each_completion(const std::filesystem::path& run, std::optional<int64_t> step,
                         const std::function<void(const std::string& line)>& f);

}  // namespace cohort
