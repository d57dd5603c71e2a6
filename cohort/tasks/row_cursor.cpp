#include "cohort/tasks/row_cursor.h"

#include <algorithm>
#include <cstdio>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

constexpr const char* kState = "state of the data: ";

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// A state that was edited by hand or cut must not look like a valid one.
int64_t read_count(const Json& state, const char* key, int64_t limit) {
  const auto value = state.find(key);
  const bool is_count = value != state.end() && value->is_number_integer() && *value >= 0 && *value <= limit;
  if (!is_count) throw FormatError(str(kState, "\"", key, "\" must be an integer from 0 to ", limit));
  return value->get<int64_t>();
}

/// Rows drawn from the source when `state` was saved; of one that has changed, as many of its rows now.
int64_t num_drawn(const Json& state, const SourceReport& source, bool accepts_changes) {
  if (!state.is_object()) throw FormatError(str(kState, "a source must be a JSON object"));
  const int64_t num_rows = read_count(state, "num_rows", INT64_MAX);
  const Json fingerprint = state.value("fingerprint", Json());
  if (num_rows != source.num_used || fingerprint != hex(source.fingerprint)) {
    const std::string change = str(source.name, " has changed since the checkpoint: ", num_rows,
                                   " rows with fingerprint ", to_json_text(fingerprint), " then, ",
                                   source.num_used, " rows with \"", hex(source.fingerprint), "\" now");
    if (!accepts_changes) {
      throw FormatError(str(kState, change,
                            "; give the same rows again, begin a new run, or go on with the rows as they are "
                            "by --accept-changed data"));
    }
    log_warn(change, "; the run goes on with them");
  }
  const int64_t position = std::min(read_count(state, "position", num_rows), source.num_used);
  const int64_t epoch = read_count(state, "epoch", INT64_MAX / std::max<int64_t>(1, num_rows) - 1);
  return epoch * source.num_used + position;
}

}  // namespace

RowCursor::RowCursor(const Dataset& dataset, uint64_t seed, bool shuffles, bool accepts_changes)
    : dataset_(dataset),
      order_(dataset.order(), seed, shuffles),
      seed_(seed),
      accepts_changes_(accepts_changes) {}

std::vector<Row> RowCursor::next(int64_t count) {
  std::vector<Row> rows;
  rows.reserve(count);
  for (int64_t i = 0; i < count; ++i) rows.push_back(dataset_.row(order_.next()));
  return rows;
}

Json RowCursor::save() const {
  Json sources = Json::array();
  for (size_t s = 0; s < dataset_.reports().size(); ++s) {
    const SourceReport& report = dataset_.reports()[s];
    const int64_t drawn = order_.num_drawn()[s];
    sources.push_back({{"path", report.name},
                       {"num_rows", report.num_used},
                       {"fingerprint", hex(report.fingerprint)},
                       {"epoch", drawn / report.num_used},
                       {"position", drawn % report.num_used}});
  }
  return {{"seed", seed_}, {"sources", sources}};
}

void RowCursor::load(const Json& state) {
  if (!state.is_object()) throw FormatError(str(kState, "it must be a JSON object"));
  if (state.value("seed", Json()) != seed_ && !accepts_changes_) {
    throw FormatError(str(kState, "it was saved with another seed than ", seed_,
                          ", which decides the order of the rows; give that seed again, or go on in the new "
                          "order by --accept-changed data"));
  }
  const Json sources = state.value("sources", Json());
  const bool is_same_number = sources.is_array() && sources.size() == dataset_.reports().size();
  if (!is_same_number && (!accepts_changes_ || !sources.is_array())) {
    throw FormatError(
        str(kState, "it was saved with another number of sources than ", dataset_.reports().size()));
  }
  std::vector<int64_t> drawn;
  for (size_t s = 0; s < dataset_.reports().size(); ++s) {
    const bool is_new = s >= sources.size();
    drawn.push_back(is_new ? 0 : num_drawn(sources[s], dataset_.reports()[s], accepts_changes_));
  }
  order_.go_to(std::move(drawn));
}

}  // namespace cohort
