#include "cohort/rewards/explanation.h"

#include <algorithm>

namespace cohort {
namespace {

/// Trees of answers can be long.
std::string shortened(const std::string& text) {
  constexpr size_t kMaxBytes = 500;
  return text.size() <= kMaxBytes ? text : str(text.substr(0, kMaxBytes), "...");
}

void write_remarks(std::ostream& out, const std::vector<Remark>& remarks) {
  size_t width = 0;
  for (const Remark& remark : remarks) width = std::max(width, remark.label.size());
  for (const Remark& remark : remarks) {
    out << "    " << remark.label << std::string(width - remark.label.size() + 2, ' ')
        << shortened(remark.text) << "\n";
  }
}

}  // namespace

void write_explanation(std::ostream& out, const RewardScorer& scorer, const Prompt& prompt,
                       const Completion& completion, const std::vector<RewardResult>& results) {
  out << prompt.id << "\n";
  for (int64_t reward = 0; reward < std::ssize(results); ++reward) {
    const RewardResult& result = results.at(reward);
    const std::string score =
        result.status == RewardStatus::kOk ? str(result.score) : to_string(result.status);
    out << "  " << scorer.names()[reward] << ": " << score << (result.detail.empty() ? "" : ", ")
        << result.detail << "\n";
    if (result.status != RewardStatus::kSkipped)
      write_remarks(out, scorer.reward(reward).explain(prompt, completion));
  }
}

}  // namespace cohort
