#include "cohort/train/grpo/preflight.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

void append(std::vector<Finding> more, std::vector<Finding>& findings) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Finding> preflight(const RunPlan& plan, const Trial& trial) {
  std::vector<Finding> findings = reward_findings(plan.config, trial);
  append(settings_findings(plan, trial.groups.front().prompt), findings);
  append(rate_findings(plan), findings);
  append(completion_findings(plan.config, trial), findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

void report_findings(const std::vector<Finding>& findings) {
  constexpr size_t kMostLines = 5;
  size_t num_lines = 0;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) throw ConfigError(finding.text);
    if (num_lines++ == kMostLines) break;
    const bool is_note = finding.severity == Severity::kNote;
    write_log_line(is_note ? "" : "warning: ", "preflight: " + finding.text);
  }
}

}  // namespace cohort
