// The first pass over a data set, which selects the used rows. Private to tasks.
#pragma once

#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/tasks/dataset.h"
#include "cohort/tasks/hash_set.h"

namespace cohort {

/// Fills a Dataset. Rows are judged in batches, by several threads, and taken in the files' order.
class DatasetScan {
 public:
  DatasetScan(const DatasetOptions& options, const MeasureRow& measure, Dataset& dataset)
      : options_(options), measure_(measure), dataset_(dataset) {}

  void run();

 private:
  struct Line {
    std::string text;
    uint64_t offset = 0;
    int64_t number = 0;
  };

  /// One thread's result for a row alone.
  struct Verdict {
    std::exception_ptr error;
    bool is_in_split = true;
    uint64_t key = 0;  ///< duplicates have the same key
    RowLengths lengths;
    std::string where;
  };

  void scan_file(int64_t source, Dataset::File& file);
  std::vector<Verdict> judge(const std::vector<Line>& lines, int64_t source, const Dataset::File& file) const;
  Verdict judge_line(const Line& line, int64_t source, const Dataset::File& file) const;
  void take(const Line& line, const Verdict& verdict, int64_t source, Dataset::File& file);
  bool is_overlong(const Verdict& verdict) const;

  const DatasetOptions& options_;
  const MeasureRow& measure_;
  Dataset& dataset_;
  HashSet seen_;
};

}  // namespace cohort
