// What a judge is told that ranks the trajectories of a group: RULER of OpenPipe's ART.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/rewards/judge/judge_client.h"
#include "cohort/rewards/judge/prompt_template.h"
#include "cohort/rewards/reward.h"

namespace cohort {

/// A group as the judge sees it. Trajectories with the same messages are shown once.
struct RulerQuestion {
  JudgeQuestion asked;
  std::vector<int64_t> shown;  ///< per row, the trajectory that it is, counted from 0
};

class RulerPrompt {
 public:
  /// `rubric` says what a good trajectory is, or @FILE does; a general one when empty. {COLUMN} stands for a
  /// column of the row. Throws ConfigError, beginning with `where`.
  RulerPrompt(const std::string& rubric, const std::string& where);

  /// Why the judge can't be shown a group: a column of the rubric that the row lacks, too long a text.
  std::optional<std::string> refusal(std::span<const RewardRow> rows) const;

  /// The messages that all `rows`, completions of one prompt, begin with stand there once. What the rows hold
  /// stands between lines with a mark that they cannot forge (JudgePrompt::messages).
  RulerQuestion question(std::span<const RewardRow> rows) const;

 private:
  std::string rubric_text(const Prompt& prompt, const std::string& mark) const;

  PromptTemplate rubric_;
};

}  // namespace cohort
