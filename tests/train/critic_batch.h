// A small batch with all that an update of a critic reads.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rl/batch.h"
#include "libs/common/random.h"

namespace cohort {

inline std::vector<int32_t> random_token_ids(CounterRng& random, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(random.below(300)));
  return ids;
}

/// Samples of several lengths, one of them masked, with all that an update of a critic reads.
inline Batch critic_batch(uint64_t seed = 5) {
  CounterRng random(seed);
  Batch batch;
  for (const int64_t prompt_length : {3, 20}) {
    Group& group = batch.groups.emplace_back();
    group.prompt.token_ids = random_token_ids(random, prompt_length);
    for (const int64_t length : {1, 6, 4, 0, 9}) {
      Completion& completion = group.samples.emplace_back().completion;
      completion.token_ids = random_token_ids(random, length);
      for (int64_t t = 0; t < length; ++t)
        completion.sampler_logprobs.push_back(static_cast<float>(-3.0 - 5.0 * random.next_unit()));
    }
  }
  for_each_sample(batch.groups, [&](Sample& sample) {
    if (sample.completion.token_ids.size() == 4) sample.mask = LossMask::kTruncated;
    for (int64_t t = 0; t < sample.completion.num_sampled(); ++t) {
      sample.token_advantages.push_back(static_cast<float>(2.0 * random.next_unit() - 1.0));
      sample.values.push_back(static_cast<float>(random.next_unit()));
      sample.returns.push_back(static_cast<float>(3.0 * random.next_unit() - 1.0));
    }
  });
  return batch;
}

}  // namespace cohort
