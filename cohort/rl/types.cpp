#include "cohort/rl/types.h"

#include <algorithm>

namespace cohort {

void Completion::append(int32_t id, TokenOrigin origin, int32_t turn, int64_t policy_version) {
  const auto place = std::ssize(token_ids);
  COHORT_CHECK(!spans.empty() || place == 0, "a completion without spans takes no further tokens");
  const bool continues = !spans.empty() && spans.back().origin == origin && spans.back().turn == turn &&
                         spans.back().policy_version == policy_version;
  if (!continues) spans.push_back({origin, turn, policy_version, place, 0});
  ++spans.back().count;
  token_ids.push_back(id);
}

int64_t Completion::num_sampled() const { return num_sampled_before(std::ssize(token_ids)); }

int64_t Completion::num_sampled_before(int64_t end) const {
  if (spans.empty()) return std::min(end, std::ssize(token_ids));
  int64_t count = 0;
  for (const TokenSpan& span : spans) {
    if (span.origin == TokenOrigin::kSampled && span.first < end)
      count += std::min(span.end(), end) - span.first;
  }
  return count;
}

std::vector<int64_t> turn_ends(const Completion& completion) {
  if (completion.spans.empty()) return {std::ssize(completion.token_ids)};
  std::vector<int64_t> ends;
  std::optional<int32_t> turn;
  for (const TokenSpan& span : completion.spans) {
    if (span.origin != TokenOrigin::kSampled) continue;
    if (turn != span.turn) ends.push_back(0);
    turn = span.turn;
    ends.back() = span.end();
  }
  return ends;
}

void check_completion(const Completion& completion) {
  int64_t end = 0;
  for (const TokenSpan& span : completion.spans) {
    COHORT_CHECK(span.first == end && span.count > 0, "a span begins at token ", span.first, ", not at ",
                 end);
    end = span.end();
  }
  COHORT_CHECK(completion.spans.empty() || end == std::ssize(completion.token_ids), "spans of ", end, " of ",
               completion.token_ids.size(), " tokens");
  const auto num_sampled = completion.num_sampled();
  const auto fits = [&](const auto& column) { return column.empty() || std::ssize(column) == num_sampled; };
  COHORT_CHECK(fits(completion.sampler_logprobs) && fits(completion.kept_ids), num_sampled,
               " sampled tokens with ", completion.sampler_logprobs.size(), " log-probabilities");
}

}  // namespace cohort
