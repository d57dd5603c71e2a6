// Writes completions.index beside the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/core/append_file.h"
#include "cohort/records/completion_index.h"

namespace cohort {

/// No member throws: if the index can't be written, it is deleted with a warning, and the next process that
/// opens the run makes it from the lines.
class IndexWriter {
 public:
  explicit IndexWriter(std::filesystem::path run);

  /// Opens the index, and gives it the rows of the lines that the run's files have now.
  void heal();

  /// Heals unless that was done.
  void open();

  /// Takes a line that is about to be written at byte `place` of the current file.
  void add(std::string_view line, int64_t place);

  /// Hands the rows of all lines since the last call to the operating system. Call it after the lines are
  /// there.
  void flush();

  /// Flushes, then waits until the rows are on the disk.
  void sync();

  /// The next line is the first one of a file.
  void begin_file() { first_step_.reset(); }

 private:
  void attempt(const std::function<void()>& action);
  void make_index();
  void append_rows(const CompletionEntry* rows, size_t count);

  std::filesystem::path run_;
  bool is_open_ = false;                ///< or given up
  std::unique_ptr<AppendFile> file_;    ///< null once it was given up
  std::optional<uint32_t> first_step_;  ///< of the current file
  std::vector<CompletionEntry> added_;
};

}  // namespace cohort
