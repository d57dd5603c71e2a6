// A position in a data set: it gives the next rows, and a run can save it and return to it.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/tasks/dataset.h"
#include "cohort/tasks/row_order.h"

namespace cohort {

class RowCursor {
 public:
  /// `dataset` must outlive this. Without `shuffles` every epoch has the files' order. `accepts_changes`:
  /// whether `load` continues if the rows have changed since.
  RowCursor(const Dataset& dataset, uint64_t seed, bool shuffles, bool accepts_changes = false);

  /// The next `count` rows; after the last row the next epoch begins.
  std::vector<Row> next(int64_t count);

  double epoch() const { return order_.epoch(); }

  /// Seed, and for each source its number of rows, their fingerprint, epoch and position.
  Json save() const;

  /// Throws FormatError when the state is malformed, and unless changes are accepted when it belongs to
  /// another seed or the data have changed since. Changed sources continue at the same position of the same
  /// epoch.
  void load(const Json& state);

 private:
  const Dataset& dataset_;
  RowOrder order_;
  uint64_t seed_;
  bool accepts_changes_;
};

}  // namespace cohort
