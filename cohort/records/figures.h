// The figures of a run as columns: what metrics.jsonl and timings.jsonl hold, while the run may still write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// The values of one figure, in the order of their steps.
struct FigureColumn {
  std::vector<int64_t> steps;  ///< ascending
  std::vector<double> values;  ///< one for each step; NaN where the file says null
};

/// Reads the figures of a run and follows its files as they grow. Not thread-safe.
class Figures {
 public:
  /// Reads nothing yet. `run`: the run's directory.
  explicit Figures(const std::filesystem::path& run);

  /// Reads the lines that were appended since the last call; a line without its end waits for the next one.
  /// If a file was cut or replaced (`--resume`, a rollback), reads it again from its beginning. Returns
  /// whether any column changed. Throws FormatError naming file and line for a line that is no JSON object
  /// with a step.
  bool update();

  /// All names, sorted.
  std::vector<std::string> names() const;

  /// Null for a name that the run has no value of.
  const FigureColumn* find(std::string_view name) const;

  /// The newest step of metrics.jsonl; 0 before the first.
  int64_t last_step() const { return last_step_; }

  /// Counts the updates that changed a column; a viewer sends its data again if it differs.
  int64_t version() const { return version_; }

 private:
  struct Source {
    std::filesystem::path path;
    int64_t place = 0;      ///< of the first byte that was not read
    int64_t num_lines = 0;  ///< that were read
    std::string last_line;  ///< the newest line; another one at its place means that the file was replaced
    std::vector<std::pair<std::string, FigureColumn*>> order;  ///< the members of the newest line
  };
  bool follow_all();
  bool follow(Source& source);
  void forget();
  void add_line(Source& source, std::string_view line);

  std::vector<Source> sources_;  ///< metrics.jsonl and timings.jsonl
  std::map<std::string, FigureColumn, std::less<>> columns_;
  int64_t last_step_ = 0, version_ = 0;
  bool is_changed_ = false;
};

}  // namespace cohort
