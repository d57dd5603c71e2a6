#include "cohort/view/trace.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "cohort/core/error.h"
#include "cohort/records/completion_index.h"
#include "cohort/records/run_directory.h"
#include "cohort/view/run_answers.h"
#include "cohort/view/step_timeline.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

constexpr int kInternalSpan = 1;  // SPAN_KIND_INTERNAL

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

/// Eight bytes that differ for other texts; an id of zeros is invalid.
uint64_t id_of(const std::string& text) { return std::max<uint64_t>(1, fnv1a(text)); }

std::string nanoseconds(double unix_s) { return std::to_string(std::llround(unix_s * 1e6)) + "000"; }

Json text_attribute(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

Json number_attribute(const std::string& key, double value) {
  return {{"key", key}, {"value", {{"doubleValue", value}}}};
}

double start_of(const RunView& run) {
  std::tm start = RunDirectory::start_of(run.path());
  start.tm_isdst = -1;
  return static_cast<double>(std::mktime(&start));
}

/// The spans of a run's steps, each step a trace of its own: programs that show traces limit their size. All
/// ids are made of the run's path, so that the same file comes out again.
class Trace {
 public:
  explicit Trace(const RunView& run) : run_(run) {}

  void add_step(int64_t step, double begin_s) {
    const std::vector<StepPart> parts = step_parts(run_.figures(), step);
    const std::string name = "step " + std::to_string(step);
    const std::string place = run_.path().string() + "/" + name;
    id_ = hex(id_of(place)) + hex(id_of(place + "/trace"));
    const double seconds = figure_at(run_.figures(), "timing_s/step", step).value_or(0.0);
    Json root = span(name, "", begin_s, seconds);
    root["attributes"] = attributes_of(step);
    spans_.push_back(std::move(root));
    for (const StepPart& part : parts) {
      const std::string path = name + "/" + part.name;  // "step 3/gen/decode"
      spans_.push_back(span(path, path.substr(0, path.rfind('/')), begin_s + part.from_s, part.seconds));
    }
  }

  Json document() && {
    const Json resource{
        {"attributes",
         {text_attribute("service.name", "cohort"), text_attribute("cohort.run", run_.path().string())}}};
    return {{"resourceSpans",
             {{{"resource", resource},
               {"scopeSpans", {{{"scope", {{"name", "cohort"}}}, {"spans", std::move(spans_)}}}}}}}};
  }

 private:
  Json span(const std::string& path, const std::string& parent, double begin_s, double seconds) const {
    Json json{{"traceId", id_},
              {"spanId", hex(id_of(id_ + path))},
              {"name", path.substr(parent.empty() ? 0 : parent.size() + 1)},
              {"kind", kInternalSpan},
              {"startTimeUnixNano", nanoseconds(begin_s)},
              {"endTimeUnixNano", nanoseconds(begin_s + seconds)}};
    if (!parent.empty()) json["parentSpanId"] = hex(id_of(id_ + parent));
    return json;
  }

  Json attributes_of(int64_t step) const {
    Json attributes = Json::array();
    for (const char* name : {"reward", "loss", "completions/mean_length", "perf/throughput"}) {
      const std::optional<double> value = figure_at(run_.figures(), name, step);
      if (value && std::isfinite(*value)) attributes.push_back(number_attribute(name, *value));
    }
    return attributes;
  }

  const RunView& run_;
  std::string id_;  // of the newest step's trace
  Json spans_ = Json::array();
};

}  // namespace

std::vector<int64_t> timed_steps(const RunView& run) {
  const FigureColumn* times = run.figures().find("timing_s/step");
  return times != nullptr ? times->steps : std::vector<int64_t>();
}

Json otlp_trace(const RunView& run, const std::vector<int64_t>& steps) {
  Trace trace(run);
  const std::vector<int64_t> all = timed_steps(run);
  double begin_s = start_of(run);
  size_t next = 0;
  for (const int64_t step : steps) {
    for (; next < all.size() && all[next] < step; ++next) {
      for (const char* name : {"timing_s/step", "timing_s/testing"})
        begin_s += figure_at(run.figures(), name, all[next]).value_or(0.0);
    }
    if (next == all.size() || all[next] != step)
      throw ConfigError(str(run.path().string(), ": the run has no timings of step ", step));
    trace.add_step(step, begin_s);
  }
  return std::move(trace).document();
}

}  // namespace cohort
