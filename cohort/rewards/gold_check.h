// Do the rewards of a run agree with the data? Every row's own solution must score full, and an empty
// completion must not.
#pragma once

#include <deque>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/line_list.h"
#include "cohort/rewards/reward_scorer.h"

namespace cohort {

class GoldCheck {
 public:
  /// Checks the reward called `name`, or where it is empty all of `rewards` that judge what is right: those
  /// of form and length are left out, and no other is made but those that a checked one requires. Column
  /// `column` holds the solutions; where it is empty the first of completion, solution, gold and answer that
  /// a row has. What is wrong with the first rows that fail goes to `faults`, a line each. Throws ConfigError
  /// where nothing is left to check.
  GoldCheck(const std::vector<RewardConfig>& rewards, const std::string& name, std::string column,
            std::ostream& faults, const RewardTypes& types = builtin_rewards());

  /// From text to tokens, for rewards that count them; may be empty.
  using Tokenize = std::function<std::vector<int32_t>(const std::string&)>;

  /// Takes the columns of a row. `where` is its "FILE:LINE".
  void submit(const Json& columns, const std::string& where, int64_t line_number, const Tokenize& tokenize);

  /// Waits for all rows.
  void finish();

  /// What to print, a label and a text each.
  std::vector<std::pair<std::string, std::string>> report() const;

  bool has_failed() const { return failed_.count() + empty_.count() > 0; }

 private:
  struct Waiting {
    std::string where;
    int64_t line_number;
    std::string fault;  ///< why it has no solution; empty for one that is being scored
  };

  const Json& solution_of(const Json& columns, const std::string& where) const;
  void judge_next();
  /// `results`: the cells of the solution and of the empty completion.
  void judge(const Waiting& row, const std::vector<std::vector<RewardResult>>& results);

  std::vector<RewardConfig> rewards_;  // those that are checked, and then those that they require
  int64_t num_checked_;
  std::string column_;
  std::ostream& faults_;
  RewardScorer scorer_;
  std::deque<Waiting> waiting_;
  int64_t num_submitted_ = 0, num_judged_ = 0, num_skipped_ = 0;
  LineList failed_, empty_;
};

}  // namespace cohort
