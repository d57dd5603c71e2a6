// What a judge is told: the rubric, the material between marks that it cannot forge, and the answer wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rewards/judge/prompt_template.h"
#include "cohort/rl/types.h"

namespace cohort {

/// How a judge scores: every criterion with a number from 0 to max_score.
struct JudgeScale {
  std::vector<std::string> criteria;
  int64_t max_score = 10;
};

class JudgePrompt {
 public:
  /// `rubric` is a template, or @FILE with one; the built-in one when empty. {prompt} and {completion} stand
  /// for the row's texts and any other name for its column. Throws ConfigError, beginning with `where`, for
  /// one without {completion} and for a file that can't be read.
  JudgePrompt(const std::string& rubric, JudgeScale scale, const std::string& where);

  const JudgeScale& scale() const { return scale_; }

  /// Why the judge can't be shown a completion: a column of the rubric that the row lacks, too long a text.
  std::optional<std::string> refusal(const Prompt& prompt, const Completion& completion) const;

  /// Chat messages; the row has all columns. What the row holds stands between lines with a mark computed
  /// from it, which therefore no text can hold unless it foresees its own hash. The same row gives the same
  /// messages.
  Json messages(const Prompt& prompt, const Completion& completion) const;

 private:
  PromptTemplate rubric_;
  JudgeScale scale_;
};

/// A JSON schema of the answer.
Json judge_answer_schema(const JudgeScale& scale);

}  // namespace cohort
