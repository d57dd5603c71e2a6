#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cohort/view/run_answers.h"
#include "cohort/view/step_timeline.h"

namespace cohort {
namespace {

constexpr const char* kStatuses[] = {"unparsed", "timeout", "error", "sandbox_error", "skipped"};
constexpr const char* kQuantiles[] = {"p50", "p90", "p99"};

struct StepRange {
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
};

/// The part of a column in a range of steps.
FigureColumn cut(const FigureColumn* column, StepRange range) {
  FigureColumn part;
  for (size_t i = 0; column != nullptr && i < column->steps.size(); ++i) {
    if (column->steps[i] < range.first || column->steps[i] > range.last) continue;
    part.steps.push_back(column->steps[i]);
    part.values.push_back(column->values[i]);
  }
  return part;
}

/// The names of the run's rewards, those of two policies with their policy's name: "attacker/opponent".
std::set<std::string> reward_names(const Figures& figures) {
  constexpr std::string_view kBegin = "rewards/", kEnd = "/unparsed";
  std::set<std::string> names;
  for (const std::string& name : figures.names()) {
    const size_t begin = name.find(kBegin);
    const bool is_whole = begin == 0 || (begin != std::string::npos && name[begin - 1] == '/');
    if (!is_whole || !name.ends_with(kEnd)) continue;
    const size_t first = begin + kBegin.size();
    names.insert(name.substr(0, begin) + name.substr(first, name.size() - kEnd.size() - first));
  }
  return names;
}

struct RewardPrefixes {
  std::string metrics, timings;
};

RewardPrefixes prefixes_of(const std::string& reward) {
  const size_t slash = reward.find('/');
  const std::string policy = slash == std::string::npos ? "" : reward.substr(0, slash + 1);
  const std::string name = reward.substr(policy.size());
  return {policy + "rewards/" + name + "/", policy + "timing_s/reward/" + name + "/"};
}

double sum_of(const FigureColumn& column) {
  double sum = 0.0;
  for (const double value : column.values) sum += std::isfinite(value) ? value : 0.0;
  return sum;
}

/// Completions of the steps that have the figure, without those that are not trained on.
int64_t num_cells(RunView& run, StepRange range) {
  return std::ranges::count_if(run.completions().entries(), [&](const CompletionEntry& entry) {
    const bool is_own = (entry.flags & (kIsUntrained | kIsDemonstration)) == 0;
    return is_own && entry.step >= range.first && entry.step <= range.last;
  });
}

}  // namespace

Json rewards_answer(RunView& run, const Query& query) {
  query.check_known({"run", "step_from", "step_to"});
  StepRange range;
  range.first = query.integer("step_from", 0, range.last).value_or(range.first);
  range.last = query.integer("step_to", 0, range.last).value_or(range.last);
  const int64_t num_all = num_cells(run, range);
  Json rewards = Json::array();
  for (const std::string& name : reward_names(run.figures())) {
    const RewardPrefixes prefixes = prefixes_of(name);
    Json row{{"name", name}, {"counts", Json::object()}};
    int64_t num_other = 0;
    for (const char* status : kStatuses) {
      const auto count = std::llround(sum_of(cut(run.figures().find(prefixes.metrics + status), range)));
      row["counts"][status] = count;
      num_other += count;
    }
    const bool is_known = num_all >= num_other && num_all > 0 && name.find('/') == std::string::npos;
    row["counts"]["ok"] = is_known ? Json(num_all - num_other) : Json(nullptr);
    for (const char* quantile : kQuantiles)
      row[quantile] = to_json(cut(run.figures().find(prefixes.timings + quantile), range));
    rewards.push_back(std::move(row));
  }
  return {{"rewards", std::move(rewards)}};
}

Json timeline_answer(const RunView& run, const Query& query) {
  query.check_known({"run", "step"});
  const int64_t step =
      query.integer("step", 0, std::numeric_limits<int64_t>::max()).value_or(run.figures().last_step());
  const auto at = [&](const std::string& name) { return figure_at(run.figures(), name, step); };
  const std::optional<double> seconds = at("timing_s/step");
  if (!seconds) throw RequestError(404, str("the run has no timings of step ", step));
  Json parts = Json::array();
  for (const StepPart& part : step_parts(run.figures(), step))
    parts.push_back({{"name", part.name}, {"from_s", part.from_s}, {"seconds", part.seconds}});
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(nullptr); };
  const Json plan = run_answer(run)["plan"];
  const bool has_plan = plan.is_object() && plan.contains("total_bytes") && plan["total_bytes"].is_number();
  return {{"step", step},
          {"seconds", *seconds},
          {"parts", std::move(parts)},
          {"memory_gb", number(at("perf/max_memory_allocated_gb"))},
          {"planned_gb", has_plan ? Json(plan["total_bytes"].get<double>() / (1 << 30)) : Json(nullptr)}};
}

}  // namespace cohort
