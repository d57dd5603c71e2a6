// cohort explain: what a metric or a setting means, and what is wrong with a run.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "apps/cli/command.h"
#include "cohort/explain/metric_info.h"
#include "cohort/records/run_directory.h"
#include "cohort/train/setting_help.h"
#include "cohort/view/interval.h"
#include "cohort/view/run_view.h"
#include "libs/common/excerpt.h"
#include "libs/common/nearest.h"
#include "libs/common/visible_text.h"

namespace cohort::cli {
namespace {

struct ExplainConfig {
  bool json = false;

  void describe(FieldVisitor& f) { f("json", json, "Print JSON instead of text."); }
};

Json to_json(const MetricInfo& metric) {
  return {{"name", metric.name},
          {"section", metric.section},
          {"definition", metric.definition},
          {"denominator", metric.denominator},
          {"healthy", metric.healthy},
          {"otherwise", metric.otherwise}};
}

void print(const MetricInfo& metric) {
  std::cout << metric.name << "  (metric, " << metric.section << ")\n";
  const auto line = [](const char* label, const std::string& text) {
    if (!text.empty()) std::cout << "  " << label << text << "\n";
  };
  line("definition:  ", metric.definition);
  line("denominator: ", metric.denominator);
  line("healthy:     ", metric.healthy);
  line("otherwise:   ", metric.otherwise);
}

void print(const SettingHelp& setting) {
  std::cout << setting.key << "  (setting of ";
  for (size_t i = 0; i < setting.places.size(); ++i) std::cout << (i == 0 ? "" : ", ") << setting.places[i];
  std::cout << ")\n" << setting.text;
}

void print(const RunView& run, const RunFinding& finding) {
  std::cout << to_string(finding.level) << ": " << visible_line(finding.text) << "  [" << finding.rule
            << "]\n"
            << "  " << visible_line(finding.advice) << "\n";
  for (const MetricEvidence& metric : finding.metrics)
    std::cout << "  " << evidence_text(visible_line(metric.metric), short_number(metric.value), metric)
              << "\n";
  std::set<std::string> commands;  // samples of one prompt have one
  for (const SampleEvidence& sample : finding.samples) {
    std::string command = visible_line(completions_command(run, sample));
    if (commands.insert(command).second) std::cout << "  " << command << "\n";
  }
}

void explain_run(const std::string& path, bool as_json) {
  RunView run(path);
  const std::vector<RunFinding>& findings = run.findings();
  if (as_json) {
    Json rows = Json::array();
    for (const RunFinding& finding : findings) rows.push_back(cohort::to_json(finding));
    std::cout << to_json_text({{"run", run.path().string()}, {"findings", std::move(rows)}}, 2) << "\n";
    return;
  }
  const int64_t last_step = run.figures().last_step();
  if (findings.empty() && last_step < kStepsOfRules) {
    std::cout << "the run is at step " << last_step << ": most rules need " << kStepsOfRules << " steps\n";
  } else if (findings.empty()) {
    std::cout << "nothing is wrong, as far as the rules see after step " << last_step << "\n";
  }
  for (const RunFinding& finding : findings) print(run, finding);
}

[[noreturn]] void refuse_name(const std::string& name) {
  if (std::filesystem::exists(name))
    throw ConfigError(str(name, ": there is no run here: give a directory with a config.toml"));
  constexpr size_t kShown = 3;
  std::vector<std::string> names = setting_keys();
  const std::vector<std::string> metrics = similar_metrics(name, kShown);
  names.insert(names.end(), metrics.begin(), metrics.end());
  // A key is typed by its last part, too.
  const auto distance = [&](const std::string& each) {
    return std::min(edit_distance(name, each), edit_distance(name, each.substr(each.rfind('.') + 1)));
  };
  std::ranges::stable_sort(names, {}, distance);
  std::string list;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) list += (i == 0 ? "" : ", ") + names[i];
  throw ConfigError(str(excerpt(name),
                        " is no metric, no setting and no directory of a run; the nearest names are ", list));
}

void explain_name(const std::string& name, bool as_json) {
  const std::vector<const MetricInfo*> metrics = find_metric_infos(name);
  const std::vector<SettingHelp> settings = find_setting_help(name);
  if (metrics.empty() && settings.empty()) refuse_name(name);
  if (as_json) {
    Json result{{"metrics", Json::array()}, {"settings", Json::array()}};
    for (const MetricInfo* metric : metrics) result["metrics"].push_back(to_json(*metric));
    for (const SettingHelp& setting : settings) result["settings"].push_back(cohort::to_json(setting));
    std::cout << to_json_text(result, 2) << "\n";
    return;
  }
  for (const MetricInfo* metric : metrics) print(*metric);
  for (const SettingHelp& setting : settings) print(setting);
}

}  // namespace

int explain_command(const Command& self, const Arguments& arguments) {
  ExplainConfig config;
  const auto name =
      read_one_argument(self, arguments, config, "a metric, a setting or the directory of a run");
  if (!name) return 0;
  if (RunDirectory::holds_run(*name)) {
    explain_run(*name, config.json);
  } else {
    explain_name(*name, config.json);
  }
  return 0;
}

}  // namespace cohort::cli
