// Reads the tables of a page of metrics. Private to explain.
#pragma once

#include <string_view>
#include <vector>

#include "cohort/explain/metric_info.h"

namespace cohort {

/// One entry for each name in the tables whose first column is "Name", in the order of the page. Throws
/// FormatError for a row with another number of cells than its table's header, and for one without a name.
std::vector<MetricInfo> read_metric_tables(std::string_view page);

}  // namespace cohort
