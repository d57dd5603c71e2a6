#include "cohort/sampler/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/ops/vocabulary_kernel.h"

namespace cohort {
namespace {

/// The ids in the order of falling logits, ties by lower id, taken one after another without sorting all of
/// them.
class RankedIds {
 public:
  RankedIds(const float* logits, int64_t vocabulary) : logits_(logits), heap_(vocabulary) {
    std::iota(heap_.begin(), heap_.end(), 0);
    std::make_heap(heap_.begin(), heap_.end(), Less{logits_});
  }

  bool empty() const { return heap_.empty(); }

  int32_t next() {
    std::pop_heap(heap_.begin(), heap_.end(), Less{logits_});
    const int32_t id = heap_.back();
    heap_.pop_back();
    return id;
  }

 private:
  struct Less {
    const float* logits;
    bool operator()(int32_t a, int32_t b) const {
      return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
    }
  };

  const float* logits_;
  std::vector<int32_t> heap_;
};

/// The logits of some ids, in their order.
std::vector<float> logits_of(const float* logits, const std::vector<int32_t>& ids) {
  std::vector<float> values(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) values[i] = logits[ids[i]];
  return values;
}

/// log sum exp over some ids, in the given order of ids.
float log_sum_exp_of(const float* logits, const std::vector<int32_t>& ids) {
  const std::vector<float> values = logits_of(logits, ids);
  return COHORT_CALL_KERNEL(log_sum_exp(values.data(), static_cast<int64_t>(values.size())));
}

std::vector<int32_t> kept_set(const float* logits, int64_t vocabulary, const SamplingParams& params) {
  RankedIds ranked(logits, vocabulary);
  std::vector<int32_t> kept;  // in the order of rank
  const int64_t limit = params.top_k > 0 ? std::min(params.top_k, vocabulary) : vocabulary;
  if (params.top_k > 0) {
    while (static_cast<int64_t>(kept.size()) < limit) kept.push_back(ranked.next());
  }
  if (params.top_p < 1.0) {
    const double normaliser =
        params.top_k > 0 ? log_sum_exp_of(logits, kept) : COHORT_CALL_KERNEL(log_sum_exp(logits, vocabulary));
    double before = 0.0;  // probability of all higher ranks
    size_t count = 0;
    while (before < params.top_p || count == 0) {
      if (count == kept.size()) {
        if (params.top_k > 0 || ranked.empty()) break;
        kept.push_back(ranked.next());
      }
      before += std::exp(logits[kept[count]] - normaliser);
      ++count;
    }
    kept.resize(count);
  }
  if (params.min_p > 0.0) {
    if (kept.empty()) kept.push_back(ranked.next());
    const double least = logits[kept[0]] + std::log(params.min_p);
    if (params.top_k == 0 && params.top_p >= 1.0) {
      while (!ranked.empty() && logits[kept.back()] >= least) kept.push_back(ranked.next());
    }
    while (kept.size() > 1 && logits[kept.back()] < least) kept.pop_back();
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// The first index whose cumulative probability exceeds `uniform`.
int64_t invert(const float* logits, int64_t count, float log_sum_exp, double uniform) {
  std::vector<float> sums((count + kSumBlock - 1) / kSumBlock);
  COHORT_CALL_KERNEL(block_sums(logits, count, log_sum_exp, sums.data()));
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  double left = uniform * total;
  // Rounding can leave a remainder behind the last token: never walk into blocks without any probability.
  size_t end = sums.size();
  while (end > 1 && sums[end - 1] <= 0.0f) --end;
  size_t block = 0;
  while (block + 1 < end && left >= sums[block]) left -= sums[block++];
  const int64_t begin = static_cast<int64_t>(block) * kSumBlock, size = std::min(kSumBlock, count - begin);
  float values[kSumBlock];
  COHORT_CALL_KERNEL(probabilities(logits + begin, size, log_sum_exp, values));
  int64_t last_possible = -1;
  for (int64_t i = 0; i < size; ++i) {
    if (values[i] <= 0.0f) continue;
    if (left < values[i]) return begin + i;
    left -= values[i];
    last_possible = begin + i;
  }
  COHORT_CHECK(last_possible >= 0, "no token has a probability");
  return last_possible;
}

int64_t largest(const float* logits, int64_t count) {
  return std::max_element(logits, logits + count) - logits;
}

/// The distinct ids of a list, ascending, with how often each comes.
std::vector<std::pair<int32_t, int64_t>> counted(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::vector<std::pair<int32_t, int64_t>> counts;
  for (const int32_t id : ids) {
    if (counts.empty() || counts.back().first != id) counts.emplace_back(id, 0);
    ++counts.back().second;
  }
  return counts;
}

/// Bias and penalties on a row that is divided by the temperature already.
std::vector<float> edited_logits(const float* logits, int64_t vocabulary, const SamplingParams& params,
                                 const DrawContext& context) {
  std::vector<float> row(logits, logits + vocabulary);
  const std::vector<int32_t> completion(context.completion_ids.begin(), context.completion_ids.end());
  const double scale = 1.0 / params.logprob_temperature();
  for (const auto& [id, bias] : params.logit_bias) row[id] += static_cast<float>(bias * scale);
  if (params.repetition_penalty != 1.0) {
    std::vector<int32_t> all = completion;
    all.insert(all.end(), context.prompt_ids.begin(), context.prompt_ids.end());
    const auto penalty = static_cast<float>(params.repetition_penalty);
    for (const auto& [id, count] : counted(std::move(all)))
      row[id] = row[id] < 0.0f ? row[id] * penalty : row[id] / penalty;
  }
  if (params.frequency_penalty == 0.0 && params.presence_penalty == 0.0) return row;
  for (const auto& [id, count] : counted(completion)) {
    const double penalty = params.frequency_penalty * static_cast<double>(count) + params.presence_penalty;
    row[id] -= static_cast<float>(penalty * scale);
  }
  return row;
}

/// The likeliest ids of a row whose log of the sum of exponentials is `lse`.
std::vector<std::pair<int32_t, float>> top_logprobs(const float* logits, int64_t count, float lse,
                                                    int64_t wanted) {
  if (wanted == 0) return {};
  RankedIds ranked(logits, count);
  std::vector<std::pair<int32_t, float>> top;
  while (std::ssize(top) < wanted && !ranked.empty()) {
    const int32_t id = ranked.next();
    top.emplace_back(id, logits[id] - lse);
  }
  return top;
}

/// Draws from a row as it is.
SampledToken draw_token(const float* logits, int64_t vocabulary, const SamplingParams& params,
                        double uniform) {
  const auto draw = [&](const float* row, int64_t count, float lse) {
    return params.temperature > 0.0 ? invert(row, count, lse, uniform) : largest(row, count);
  };
  if (!params.is_filtered()) {
    const float lse = COHORT_CALL_KERNEL(log_sum_exp(logits, vocabulary));
    const int64_t id = draw(logits, vocabulary, lse);
    return {static_cast<int32_t>(id), logits[id] - lse, nullptr,
            top_logprobs(logits, vocabulary, lse, params.num_top_logprobs)};
  }
  std::vector<int32_t> kept = kept_set(logits, vocabulary, params);
  const std::vector<float> row = logits_of(logits, kept);
  const auto count = static_cast<int64_t>(row.size());
  const float lse = COHORT_CALL_KERNEL(log_sum_exp(row.data(), count));
  const int64_t index = draw(row.data(), count, lse);
  auto top = top_logprobs(row.data(), count, lse, params.num_top_logprobs);
  for (auto& [id, logprob] : top) id = kept[id];
  return {kept[index], row[index] - lse, std::make_shared<const std::vector<int32_t>>(std::move(kept)),
          std::move(top)};
}

/// Draws from the logits of `allowed` alone.
SampledToken draw_allowed(const float* logits, const KeptIds& allowed, const SamplingParams& params,
                          double uniform) {
  const std::vector<float> row = logits_of(logits, *allowed);
  SampledToken token = draw_token(row.data(), static_cast<int64_t>(row.size()), params, uniform);
  token.id = (*allowed)[token.id];
  for (auto& [id, logprob] : token.top_logprobs) id = (*allowed)[id];
  if (token.kept_ids == nullptr) {
    token.kept_ids = allowed;
    return token;
  }
  std::vector<int32_t> kept = *token.kept_ids;
  for (int32_t& id : kept) id = (*allowed)[id];
  token.kept_ids = std::make_shared<const std::vector<int32_t>>(std::move(kept));
  return token;
}

bool has_nan(const float* logits, int64_t count) {
  int32_t found = 0;  // without an early end, so that the loop is vectorized
  for (int64_t i = 0; i < count; ++i) found |= static_cast<int32_t>(logits[i] != logits[i]);
  return found != 0;
}

/// The draw from a row that holds NaN. No filter applies, and the log-probability is NaN.
SampledToken draw_from_nan(int64_t vocabulary, KeptIds allowed) {
  if (allowed == nullptr) {
    std::vector<int32_t> all(vocabulary);
    std::iota(all.begin(), all.end(), 0);
    allowed = std::make_shared<const std::vector<int32_t>>(std::move(all));
  }
  return {allowed->front(), std::numeric_limits<float>::quiet_NaN(), allowed};
}

}  // namespace

SampledToken given_token(const float* logits, int64_t vocabulary, int32_t id, int64_t num_top_logprobs) {
  const float lse = COHORT_CALL_KERNEL(log_sum_exp(logits, vocabulary));
  return {id, logits[id] - lse, nullptr, top_logprobs(logits, vocabulary, lse, num_top_logprobs)};
}

SampledToken sample_token(const float* logits, int64_t vocabulary, const SamplingParams& params,
                          double uniform, const DrawContext& context) {
  std::vector<float> edited;
  if (params.edits_logits()) {
    edited = edited_logits(logits, vocabulary, params, context);
    logits = edited.data();
  }
  // Filters could leave the NaN out. Without them it reaches the log-probability through the sum of all.
  const bool leaves_out = params.is_filtered() || context.allowed != nullptr;
  if (leaves_out && has_nan(logits, vocabulary)) return draw_from_nan(vocabulary, context.allowed);
  if (context.allowed != nullptr) return draw_allowed(logits, context.allowed, params, uniform);
  return draw_token(logits, vocabulary, params, uniform);
}

}  // namespace cohort
