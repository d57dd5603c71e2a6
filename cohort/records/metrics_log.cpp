#include "cohort/records/metrics_log.h"

#include <cmath>

#include "cohort/core/log.h"

namespace cohort {
namespace {

Json line_of(int64_t step, const Metrics& metrics) {
  Json line = {{"step", step}};
  for (const auto& [name, value] : metrics) line[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  return line;
}

}  // namespace

void go_back(AppendFile& file, int64_t size) {
  if (file.size() == 0 && size > 0) {
    log_warn(file.path().string(), ": was deleted: it holds only what comes from here on");
  } else {
    file.truncate_to(size);
  }
}

MetricsLog::MetricsLog(const RunDirectory& run)
    : metrics_(run.metrics_file()), timings_(run.timings_file()), events_(run.events_file()) {}

void MetricsLog::write(int64_t step, const Metrics& metrics, const Metrics& timings, double wall_time_s) {
  if (!metrics.empty()) metrics_.write(line_of(step, metrics));
  if (!timings.empty()) timings_.write(line_of(step, timings));
  Metrics scalars = metrics;
  scalars.insert(scalars.end(), timings.begin(), timings.end());
  if (!scalars.empty()) events_.write(step, wall_time_s, scalars);
  metrics_.flush();
  timings_.flush();
  events_.flush();
}

Json MetricsLog::save() {
  metrics_.sync();
  timings_.sync();
  events_.sync();
  return {{"metrics", metrics_.size()}, {"timings", timings_.size()}, {"events", events_.size()}};
}

void MetricsLog::cut_to(const Json& sizes, int64_t events) {
  metrics_.truncate_to(sizes.at("metrics").get<int64_t>());
  timings_.truncate_to(sizes.at("timings").get<int64_t>());
  if (events_.size() >= events) events_.truncate_to(events);
}

void MetricsLog::load(const Json& sizes) {
  go_back(metrics_, sizes.value("metrics", int64_t{0}));
  go_back(timings_, sizes.value("timings", int64_t{0}));
  go_back(events_, sizes.value("events", int64_t{0}));
}

}  // namespace cohort
