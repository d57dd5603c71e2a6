#include "cohort/rewards/judge_reward.h"

#include "cohort/core/error.h"

namespace cohort {

JudgeReward::JudgeReward(const std::string& name, const JudgeKeys& keys,
                         std::unique_ptr<HttpTransport> transport, Clock& clock)
    : client_(name, "judge", keys.server, std::move(transport), clock),
      prompt_(keys.rubric, read_judge_scale(keys, str("reward ", name, ": ")), str("reward ", name, ": ")),
      num_votes_(keys.votes.value_or(1)) {}

RewardResult JudgeReward::score(const Prompt& prompt, const Completion& completion) {
  if (const auto reason = prompt_.refusal(prompt, completion))
    return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": ", *reason)};
  RewardResult result = hold(prompt_.messages(prompt, completion)).result(prompt_.scale(), prompt.id);
  result.detail = client_.without_key(std::move(result.detail));
  return result;
}

/// Votes one after another, until they are all there or too many failed.
Ballot JudgeReward::hold(Json messages) {
  const JudgeQuestion question{
      std::move(messages), judge_answer_schema(prompt_.scale()),
      [this](std::string_view message) { return read_judge_vote(message, prompt_.scale()); }};
  Ballot ballot(num_votes_);
  for (int64_t i = 0; i < num_votes_ && !ballot.is_lost(); ++i) {
    RewardStatus status = RewardStatus::kOk;
    JudgeVote given = client_.vote(question, i, status);
    ballot.add(std::move(given), status);
  }
  return ballot;
}

}  // namespace cohort
