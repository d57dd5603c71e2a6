#include "cohort/explain/metric_info.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cohort/explain/metric_tables.h"
#include "libs/common/nearest.h"

namespace cohort {

std::string_view metrics_page();  // docs/metrics.md, embedded by CMakeLists.txt

namespace {

/// The letters of `pattern` outside `{...}` that `name` matches; nothing if it does not match. `{...}` is any
/// text without a slash, but in monitors, which are named like their metric.
std::optional<size_t> matched_letters(std::string_view pattern, std::string_view name, bool may_have_slash) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == name ? std::optional(pattern.size()) : std::nullopt;
  if (!name.starts_with(pattern.substr(0, open))) return std::nullopt;
  const std::string_view rest = pattern.substr(pattern.find('}') + 1);
  for (size_t end = open + 1; end <= name.size(); ++end) {
    if (!may_have_slash && name[end - 1] == '/') break;
    if (const auto more = matched_letters(rest, name.substr(end), may_have_slash)) return open + *more;
  }
  return std::nullopt;
}

/// The lines whose names match best.
std::vector<const MetricInfo*> matching_infos(std::string_view name) {
  std::vector<const MetricInfo*> found;
  size_t best = 0;
  for (const MetricInfo& info : metric_infos()) {
    const auto letters = matched_letters(info.name, name, info.name.starts_with("monitor/"));
    if (!letters || *letters < best) continue;
    if (*letters > best) found.clear();
    best = *letters;
    found.push_back(&info);
  }
  return found;
}

constexpr std::string_view kPrefixes[] = {"attacker/", "defender/", "eval_"};

}  // namespace

const std::vector<MetricInfo>& metric_infos() {
  static const std::vector<MetricInfo> infos = read_metric_tables(metrics_page());
  return infos;
}

std::vector<const MetricInfo*> find_metric_infos(std::string_view name) {
  std::vector<const MetricInfo*> found = matching_infos(name);
  for (const std::string_view prefix : kPrefixes) {
    if (found.empty() && name.starts_with(prefix)) return find_metric_infos(name.substr(prefix.size()));
  }
  return found;
}

std::vector<std::string> similar_metrics(std::string_view name, size_t count) {
  const std::string wanted(name);
  std::vector<std::pair<size_t, std::string>> candidates;
  std::set<std::string> seen;
  for (const MetricInfo& info : metric_infos()) {
    if (!seen.insert(info.name).second) continue;
    const std::string last = info.name.substr(info.name.rfind('/') + 1);
    const size_t distance = std::min(edit_distance(wanted, info.name), edit_distance(wanted, last) + 1);
    candidates.emplace_back(distance, info.name);
  }
  std::ranges::stable_sort(candidates, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, candidates.size()); ++i) names.push_back(candidates[i].second);
  return names;
}

}  // namespace cohort
