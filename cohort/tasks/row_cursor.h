// A place in a data set: what comes next, and how to come back to it.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/tasks/dataset.h"
#include "cohort/tasks/row_order.h"

namespace cohort {

class RowCursor {
 public:
  /// `dataset` must outlive this. Without `shuffles` every epoch has the files' order.
  RowCursor(const Dataset& dataset, uint64_t seed, bool shuffles);

  /// The next `count` rows; goes on in the next epoch without end.
  std::vector<Row> next(int64_t count);

  double epoch() const { return order_.epoch(); }

  /// Seed, and for each source its number of rows, their fingerprint, epoch and position.
  Json save() const;

  /// Throws FormatError when the state belongs to another seed or the data have changed since.
  void load(const Json& state);

 private:
  const Dataset& dataset_;
  RowOrder order_;
  uint64_t seed_;
};

}  // namespace cohort
