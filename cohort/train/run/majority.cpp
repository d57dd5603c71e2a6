#include "cohort/train/run/majority.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "cohort/core/error.h"

namespace cohort {
namespace {

struct Tally {
  int64_t count = 0;
  bool is_right = false;
};

double share_right(std::span<const Vote> votes) {
  std::map<int64_t, Tally> tallies;
  int64_t most = 0;
  for (const Vote& vote : votes) {
    if (vote.answer < 0) continue;
    Tally& tally = tallies[vote.answer];
    tally.is_right |= vote.is_right;
    most = std::max(most, ++tally.count);
  }
  int64_t num_first = 0, num_right = 0;
  for (const auto& [answer, tally] : tallies) {
    if (tally.count < most) continue;
    ++num_first;
    num_right += tally.is_right;
  }
  return num_first == 0 ? 0.0 : static_cast<double>(num_right) / static_cast<double>(num_first);
}

}  // namespace

std::vector<Vote> read_votes(const Reward& reward, const Group& group, size_t column) {
  std::vector<std::string> answers;
  std::vector<Vote> votes;
  for (const Sample& sample : group.samples) {
    const RewardResult& cell = sample.rewards.at(column);
    if (cell.status != RewardStatus::kOk) continue;
    Vote vote{.is_right = cell.score >= 1.0};
    const std::string answer = reward.answer(group.prompt, sample.completion);
    if (!answer.empty()) {
      const auto same = std::find_if(answers.begin(), answers.end(), [&](const std::string& known) {
        return reward.is_same_answer(known, answer);
      });
      vote.answer = same - answers.begin();
      if (same == answers.end()) answers.push_back(answer);
    }
    votes.push_back(vote);
  }
  return votes;
}

double cons_at_k(const std::vector<Vote>& votes, int64_t k) {
  COHORT_CHECK(1 <= k && k <= std::ssize(votes));
  double sum = 0.0;
  const int64_t num_blocks = std::ssize(votes) / k;
  for (int64_t block = 0; block < num_blocks; ++block)
    sum += share_right(std::span(votes).subspan(block * k, k));
  return sum / static_cast<double>(num_blocks);
}

}  // namespace cohort
