// What the page asks about completions: the table, one of them with its tokens, a group, a prompt over the
// run.
#pragma once

#include "cohort/core/json.h"
#include "cohort/view/query.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// /api/completions.
Json completions_answer(RunView& run, const Query& query);

/// /api/completion. Throws RequestError (404) for an index beyond the last.
Json completion_answer(RunView& run, const Query& query);

/// /api/group without replay_problem. Throws RequestError (404) if the step did not draw the prompt.
Json group_answer(RunView& run, const Query& query);

/// /api/prompt: at most 200 steps, spread evenly, with the first and the last one; `num_steps` counts all.
/// Throws RequestError (404) if no step drew it.
Json prompt_answer(RunView& run, const Query& query);

/// /api/prompts: prompt_summaries() of the run.
Json prompts_answer(RunView& run, const Query& query);

}  // namespace cohort
