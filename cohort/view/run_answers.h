// What the page asks about a run: settings, figures, timings, findings.
#pragma once

#include "cohort/core/json.h"
#include "cohort/view/query.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// A row of /api/runs.
Json run_summary(const RunView& run, int64_t number);

/// /api/run: recipe, changes, rollbacks and the memory plan that the run wrote.
Json run_answer(const RunView& run);

/// /api/metrics: what each figure of the run means.
Json metrics_answer(const RunView& run);

/// /api/figures. Throws RequestError (400) without a name and (404) for one that the run has no value of.
Json figures_answer(const RunView& run, const Query& query);

/// /api/rewards: how often each reward had which status, and its latencies.
Json rewards_answer(RunView& run, const Query& query);

/// /api/timeline of a step. Throws RequestError (404) for a step without timings.
Json timeline_answer(const RunView& run, const Query& query);

/// /api/findings.
Json findings_answer(RunView& run);

/// Steps and values of a column, null for NaN.
Json to_json(const FigureColumn& column);

/// The value of a figure at a step; nothing if there is none.
std::optional<double> figure_at(const Figures& figures, std::string_view name, int64_t step);

}  // namespace cohort
