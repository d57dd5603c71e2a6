// Whether docs/metrics.md defines a metric.
#pragma once

#include <string>

#include "cohort/explain/metric_info.h"

namespace cohort {

inline bool is_documented(const std::string& metric) { return !find_metric_infos(metric).empty(); }

}  // namespace cohort
