// What each metric means: the tables of docs/metrics.md, which the program carries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A line of a table. Texts are Markdown.
struct MetricInfo {
  std::string name;     ///< as documented: `rewards/{func}/mean`; `{...}` stands for any text without a slash
  std::string section;  ///< the heading above its table
  std::string definition;
  std::string denominator;  ///< empty where the table has none, and for "-"
  std::string healthy;      ///< the healthy range; empty for "-"
  std::string otherwise;    ///< what a rise or fall out of it means and what to try; empty for "-"
};

/// In the order of the page.
const std::vector<MetricInfo>& metric_infos();

/// What a metric of a run means. Names of two policies (`attacker/reward`) and of held-out rows are found,
/// too. A name that several tables define is found several times; none if it is in no table.
std::vector<const MetricInfo*> find_metric_infos(std::string_view name);

/// The documented names nearest to a name that is in no table, best first; for messages.
std::vector<std::string> similar_metrics(std::string_view name, size_t count);

}  // namespace cohort
