// What judges say, which the judged text may have a hand in: any bytes are scores within the scale or a
// reason why there are none.
#include <cstdint>
#include <cstdlib>

#include "cohort/rewards/judge/chat_api.h"
#include "cohort/rewards/judge/judge_answer.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read_vote(std::string_view message) {
  static const cohort::JudgeScale scale{{"correct", "clear"}, 10};
  const cohort::JudgeVote vote = cohort::read_judge_vote(message, scale);
  require(vote.scores.empty() != vote.failure.empty());
  require(vote.scores.empty() || vote.scores.size() == scale.criteria.size());
  for (const double score : vote.scores) require(score >= 0.0 && score <= 10.0);
}

void read_group(std::string_view message) {
  constexpr int64_t kTrajectories = 3;
  const cohort::JudgeVote vote = cohort::read_group_vote(message, kTrajectories);
  require(vote.scores.empty() != vote.failure.empty());
  require(vote.scores.empty() || (vote.scores.size() == kTrajectories && vote.explanations.size() == 3));
  for (const double score : vote.scores) require(score >= 0.0 && score <= 1.0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_vote(text);
  read_group(text);
  const cohort::ChatReply reply = cohort::read_chat_reply(text);
  require(reply.content.has_value() == reply.failure.empty());
  if (reply.content) read_vote(*reply.content);
  if (reply.content) read_group(*reply.content);
  return 0;
}
