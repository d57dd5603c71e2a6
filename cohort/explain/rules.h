// The rules of rules.def. Private to explain.
#pragma once

#include <string>
#include <vector>

#include "cohort/explain/rule_input.h"
#include "cohort/explain/thresholds.h"

namespace cohort {

/// Without the rule's name, which find_problems adds.
inline RunFinding finding(FindingLevel level, std::string text, std::string advice,
                          std::vector<MetricEvidence> metrics = {},
                          std::vector<SampleEvidence> samples = {}) {
  return {"", level, std::move(text), std::move(advice), std::move(metrics), std::move(samples)};
}

/// Steps that a rule needs, unless its evidence is certain: fewer tell noise from nothing.
constexpr size_t kFewestSteps = kStepsOfRules;

/// Steps that are enough if each has many completions and all say the same.
constexpr size_t kFewestCertainSteps = 3;

/// Whether `steps` steps that all say the same are no accident.
inline bool is_certain(const RuleInput& run, size_t steps) {
  return steps >= kFewestSteps ||
         (steps >= kFewestCertainSteps &&
          static_cast<double>(steps) * run.completions_per_step() >= thresholds::kFewCompletions);
}

/// Whether a window's mean is clearly above another's.
inline bool is_clearly_above(const CurveWindow& a, const CurveWindow& b) {
  return standard_score(a, b) >= thresholds::kClearScore;
}

/// Whether the reward rose over the run, by its windows or by its trend.
bool reward_rose(const RuleInput& run);

/// Whether the reward ends at the top of what it can be: what looks like a collapse is success then.
bool is_solved(const RuleInput& run);

namespace rules {
#define RULE(name, looks_for) std::vector<RunFinding> name(const RuleInput& run);
#include "cohort/explain/rules.def"
#undef RULE
}  // namespace rules

}  // namespace cohort
