#include "cohort/rewards/judge/ballot.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "cohort/core/error.h"
#include "libs/common/excerpt.h"

namespace cohort {

JudgeScale read_judge_scale(const JudgeKeys& keys, const std::string& where) {
  JudgeScale scale{keys.criteria, keys.max_score.value_or(10)};
  if (scale.criteria.empty()) scale.criteria = {"quality"};
  std::set<std::string> names;
  for (const std::string& name : scale.criteria) {
    const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' ';
    });
    if (!is_plain || name == "reason" || !names.insert(name).second) {
      throw ConfigError(
          str(where, "`criteria`: ", excerpt(name),
              " must be a name of letters, digits, blanks, _ and -, given once, and not \"reason\""));
    }
  }
  return scale;
}

void Ballot::add(JudgeVote vote, RewardStatus status) {
  if (!vote.scores.empty()) {
    valid_.push_back(std::move(vote));
    return;
  }
  failures_.push_back(std::move(vote.failure));
  are_all_late_ &= status == RewardStatus::kTimeout;
}

RewardResult Ballot::result(const JudgeScale& scale, const std::string& prompt_id) const {
  if (2 * std::ssize(valid_) < num_votes_) {
    return {0.0, are_all_late_ ? RewardStatus::kTimeout : RewardStatus::kError,
            str(prompt_id, ": ", valid_.size(), " of ", num_votes_, " votes: ", failures_.front())};
  }
  double total = 0.0;
  Json scores = Json::object();
  for (size_t i = 0; i < scale.criteria.size(); ++i) {
    Json& given = scores[scale.criteria[i]] = Json::array();
    for (const JudgeVote& vote : valid_) {
      given.push_back(vote.scores[i]);
      total += vote.scores[i];
    }
  }
  const auto num_scores = static_cast<double>(scale.criteria.size() * valid_.size());
  Json detail = {{"scores", std::move(scores)}};
  if (!failures_.empty()) detail["failed_votes"] = failures_;
  return {total / num_scores / static_cast<double>(scale.max_score), RewardStatus::kOk, to_json_text(detail)};
}

}  // namespace cohort
