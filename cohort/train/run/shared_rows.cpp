#include "cohort/train/run/shared_rows.h"

#include <algorithm>

namespace cohort {
namespace {

/// The tokens of a prompt and a completion that have rows.
class RowTokens {
 public:
  RowTokens(const PackGroup& group, size_t i)
      : prompt_(group.prompt_of(group.completions[i])), completion_(*group.completions[i].completion) {}

  int64_t size() const { return std::ssize(prompt_) + std::max<int64_t>(0, rows_behind_prompt(completion_)); }

  int32_t operator[](int64_t row) const {
    const auto length = std::ssize(prompt_);
    return row < length ? prompt_[row] : completion_.token_ids[row - length];
  }

 private:
  const std::vector<int32_t>& prompt_;
  const Completion& completion_;
};

/// Rows of the same tokens from the first one on.
int64_t common_rows(const RowTokens& a, const RowTokens& b) {
  const int64_t most = std::min(a.size(), b.size());
  int64_t count = 0;
  while (count < most && a[count] == b[count]) ++count;
  return count;
}

}  // namespace

int64_t rows_behind_prompt(const Completion& completion) {
  int64_t last = -1;
  if (completion.spans.empty()) last = std::ssize(completion.token_ids) - 1;
  for (const TokenSpan& span : completion.spans) {
    if (span.origin == TokenOrigin::kSampled) last = span.end() - 1;
  }
  return last;
}

SharedRows shared_rows(const PackGroup& group, size_t i) {
  const PackedCompletion& packed = group.completions[i];
  SharedRows best;
  if (packed.prompt_ids == nullptr) best.count = std::ssize(*group.prompt_ids);
  for (size_t j = i; packed.is_branch && j-- > 0;) {
    const PackedCompletion& other = group.completions[j];
    if (rows_behind_prompt(*other.completion) < 0) continue;
    int64_t count = common_rows(RowTokens(group, i), RowTokens(group, j));
    // The rows of the group's prompt but the last one have no results.
    if (packed.prompt_ids != nullptr && other.prompt_ids == nullptr)
      count = std::min(count, std::ssize(*packed.prompt_ids) - 1);
    if (count > best.count) best = {static_cast<int64_t>(j), count};
    if (!other.is_branch) break;
  }
  return best;
}

int64_t added_rows(const PackGroup& group, size_t i) {
  return RowTokens(group, i).size() - shared_rows(group, i).count;
}

}  // namespace cohort
