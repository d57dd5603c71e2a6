#include "cohort/train/run/data_options.h"

#include <cmath>

#include "cohort/core/log.h"

namespace cohort {

void report_rows(const Dataset& dataset, const char* part) {
  const RowOrder order(dataset.order(), 0, false);
  for (size_t s = 0; s < dataset.reports().size(); ++s) {
    const SourceReport& r = dataset.reports()[s];
    if (r.num_used == r.num_rows && dataset.reports().size() == 1) continue;
    const auto percent = std::lround(100.0 * order.share(static_cast<int64_t>(s)));
    log_info(part, " data ", r.name, ": ", r.num_used, " of ", r.num_rows, " rows (", r.num_other_split,
             " in the other split, ", r.num_duplicates, " duplicates, ", r.num_overlong, " too long), ",
             percent, "% of the draws");
  }
}

}  // namespace cohort
