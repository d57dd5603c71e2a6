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

/// /api/group. Throws RequestError (404) if the step did not draw the prompt.
Json group_answer(RunView& run, const Query& query);

/// /api/prompt: at most 200 steps, spread evenly, with the first and the last one; `num_steps` counts all.
/// Throws RequestError (404) if no step drew it.
Json prompt_answer(RunView& run, const Query& query);

/// /api/prompts.
Json prompts_answer(RunView& run, const Query& query);

/// A prompt's reward, or its count, over the run. NaN without a reward.
struct PromptSummary {
  uint64_t prompt = 0;  ///< fnv1a() of its id
  uint32_t first_entry = 0, count = 0;
  uint32_t first_step = 0, last_step = 0;
  float first_reward = 0.0F,
        last_reward = 0.0F;  ///< means over the completions of the first and the last step
};

/// All prompts of a run, most drawn first, then by their first completions.
std::vector<PromptSummary> prompt_summaries(std::span<const CompletionEntry> entries);

}  // namespace cohort
