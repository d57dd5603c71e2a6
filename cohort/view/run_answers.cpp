#include "cohort/view/run_answers.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/time_text.h"
#include "cohort/explain/metric_info.h"
#include "cohort/records/record_lines.h"
#include "cohort/records/run_directory.h"
#include "libs/common/excerpt.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

Json setting_or_null(const Json& recipe, std::string_view key) {
  const Json* value = find_setting(recipe, key);
  return value != nullptr ? *value : Json(nullptr);
}

Json lines_of(const fs::path& path) {
  Json lines = Json::array();
  for_each_line(path, [&](const std::string& line, int64_t) {
    lines.push_back(parse_json_line(line, path, std::ssize(lines) + 1));
  });
  return lines;
}

/// The description of a figure; of several that of the run's kind.
const MetricInfo* info_of(const std::string& name, const std::string& kind) {
  const std::vector<const MetricInfo*> infos = find_metric_infos(name);
  if (infos.empty()) return nullptr;
  const auto own = std::ranges::find_if(infos, [&](const MetricInfo* info) {
    return info->section.find("cohort " + kind) != std::string::npos;
  });
  return own != infos.end() ? *own : infos.front();
}

}  // namespace

Json run_summary(const RunView& run, int64_t number) {
  std::error_code none;
  const bool has_start = fs::exists(run.path() / ".start", none);
  return {{"run", number},
          {"name", run.name()},
          {"path", run.path().string()},
          {"step", run.figures().last_step()},
          {"max_steps", run.max_steps() > 0 ? Json(run.max_steps()) : Json(nullptr)},
          {"is_finished", run.is_finished()},
          {"started", has_start ? Json(to_time_text(RunDirectory::start_of(run.path()))) : Json(nullptr)},
          {"kind", run.kind()},
          {"model", setting_or_null(run.recipe(), "model.path")},
          {"preset", setting_or_null(run.recipe(), "objective.preset")},
          {"seed", setting_or_null(run.recipe(), "seed")}};
}

Json run_answer(const RunView& run) {
  const fs::path plan = run.path() / "memory_plan.json";
  std::error_code none;
  return {{"recipe", run.recipe()},
          {"changes", lines_of(run.path() / "changes.jsonl")},
          {"rollbacks", lines_of(run.path() / "rollbacks.jsonl")},
          {"plan", fs::exists(plan, none) ? read_json(plan) : Json(nullptr)}};
}

Json metrics_answer(const RunView& run) {
  Json rows = Json::array();
  const std::string kind = run.kind();
  for (const std::string& name : run.figures().names()) {
    const MetricInfo* info = info_of(name, kind);
    const MetricInfo unknown{};
    const MetricInfo& known = info != nullptr ? *info : unknown;
    rows.push_back({{"name", name},
                    {"section", known.section},
                    {"definition", known.definition},
                    {"denominator", known.denominator},
                    {"healthy", known.healthy},
                    {"otherwise", known.otherwise}});
  }
  return rows;
}

Json to_json(const FigureColumn& column) {
  Json values = Json::array();
  for (const double value : column.values)
    values.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  return {{"steps", column.steps}, {"values", std::move(values)}};
}

Json figures_answer(const RunView& run, const Query& query) {
  query.check_known({"run", "name"});
  const std::vector<std::string> names = query.texts("name");
  if (names.empty()) throw RequestError(400, "parameter name is missing; give it once for each figure");
  Json figures = Json::object();
  for (const std::string& name : names) {
    const FigureColumn* column = run.figures().find(name);
    if (column == nullptr)
      throw RequestError(404, str("the run has no figure ", excerpt(name), "; the nearest is \"",
                                  nearest_name(name, run.figures().names()), "\""));
    figures[name] = to_json(*column);
  }
  return {{"version", run.version()}, {"figures", std::move(figures)}};
}

std::optional<double> figure_at(const Figures& figures, std::string_view name, int64_t step) {
  const FigureColumn* column = figures.find(name);
  if (column == nullptr) return std::nullopt;
  const auto place = std::ranges::lower_bound(column->steps, step);
  if (place == column->steps.end() || *place != step) return std::nullopt;
  const double value = column->values[static_cast<size_t>(place - column->steps.begin())];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Json findings_answer(RunView& run) {
  Json rows = Json::array();
  for (const RunFinding& finding : run.findings()) rows.push_back(to_json(finding));
  return rows;
}

}  // namespace cohort
