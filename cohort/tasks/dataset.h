// The user's data sets: rows of JSONL files from one or several sources, selected and checked in one pass
// before a run begins, and then read from the files on demand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/tasks/row_file.h"
#include "cohort/tasks/row_order.h"
#include "cohort/tasks/row_text.h"

namespace cohort {

struct DataSource {
  std::vector<std::string> path;  ///< files or patterns
  std::optional<double> weight;   ///< share of the draws; by number of rows if unset
  std::string domain;             ///< becomes the column `domain` of its rows; empty keeps their own
  std::map<std::string, std::string> columns;  ///< from a name that the program knows to the file's
};

enum class Deduplicate { kNone, kPrompt, kRow };

/// "none", "prompt" or "row".
Deduplicate parse_deduplicate(const std::string& name);

struct DatasetOptions {
  std::vector<DataSource> sources;
  double test_split_size = 0.0;  ///< share of prompts that are held out
  bool is_held_out = false;      ///< take the held-out rows instead of the others
  Deduplicate deduplicate = Deduplicate::kNone;
  std::optional<int64_t> max_prompt_length;  ///< tokens
  int64_t context_length = INT64_MAX;        ///< tokens that the model takes
  bool filter_overlong_prompts = false;      ///< longer rows are left out; otherwise they are an error
  int64_t num_threads = 1;                   ///< of the first pass; changes no result
};

/// In tokens.
struct RowLengths {
  int64_t prompt = 0;
  int64_t total = 0;  ///< tokens of the context that the row needs
};

/// Measures a row as a run would read it, without keeping it. Throws FormatError for an unusable row. Called
/// from several threads.
using MeasureRow = std::function<RowLengths(const Row& row)>;

/// Counts of a source's rows: num_rows = num_used + num_other_split + num_duplicates + num_overlong.
struct SourceReport {
  std::string name;  ///< as given
  int64_t num_rows = 0;
  int64_t num_used = 0;
  int64_t num_other_split = 0;
  int64_t num_duplicates = 0;
  int64_t num_overlong = 0;
  uint64_t fingerprint = 0;  ///< of the used rows' bytes, in order
};

/// Memory: 8 bytes per used row; 8 to 22 more per row while duplicates are searched. Immutable; any number of
/// threads may read rows.
class Dataset {
 public:
  /// Reads all rows once. Throws FormatError naming file and line of the first that is malformed, can't be
  /// used or is too long, and ConfigError for a source without usable rows.
  Dataset(const DatasetOptions& options, const MeasureRow& measure);

  int64_t num_rows() const;
  const std::vector<SourceReport>& reports() const { return reports_; }

  /// For RowOrder.
  std::vector<RowOrder::Source> order() const;

  /// Reads the row from the file. Throws FormatError if the file was changed meanwhile.
  Row row(RowAddress address) const;

  /// Calls f(row) for each row that is used, in the files' order. Throws as row() does.
  template <typename F>
  void for_each_row(F f) const {
    for (size_t s = 0; s < reports_.size(); ++s) {
      for (int64_t i = 0; i < reports_[s].num_used; ++i) f(row({static_cast<int64_t>(s), i}));
    }
  }

  /// The lengths of used rows' prompts in tokens, each with the first row of that length.
  const std::map<int64_t, RowAddress>& prompt_lengths() const { return prompt_lengths_; }
  int64_t longest_total() const { return longest_total_; }

 private:
  friend class DatasetScan;

  struct File {
    RowFile rows;
    std::string label;      ///< in ids: the file's name, or its path where another file has the same name
    int64_t first_row = 0;  ///< in its source
  };
  struct Source {
    DataSource spec;
    std::vector<File> files;
  };

  std::vector<Source> sources_;
  std::vector<SourceReport> reports_;
  std::map<int64_t, RowAddress> prompt_lengths_;
  int64_t longest_total_ = 0;
};

/// Gives columns their new names and the source's domain. A name with dots that no column has is a path into
/// nested columns, such as reward_model.ground_truth. Throws FormatError for a column that `source.columns`
/// names and the row lacks.
void apply_columns(Row& row, const DataSource& source);

/// Whether a prompt (`prompt_key` of its row) is among the `test_split_size` held out. A pure function of the
/// two: added rows move no others, and a larger share holds out every prompt that a smaller one does.
bool is_held_out(const std::string& prompt_key, double test_split_size);

/// Every row of a file as a Prompt: id "FILE:LINE", text, token ids and the other columns as fields. Throws
/// FormatError naming the line that can't be used, and for a file without rows. `columns`: from a name that
/// the program knows to the file's.
std::vector<Prompt> read_prompts(const std::filesystem::path& path, const TextFormat& format,
                                 const std::map<std::string, std::string>& columns = {});

}  // namespace cohort
