// A small batch with all that an update of a critic reads.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/train/policy_loss.h"

namespace cohort {

/// Completions of several lengths, one of them masked, with all that an update of a critic reads.
struct Batch {
  explicit Batch(uint64_t seed = 5) {
    CounterRng random(seed);
    for (const int64_t prompt_length : {3, 20}) {
      RolloutGroup group;
      group.prompt.token_ids = ids(random, prompt_length);
      for (const int64_t length : {1, 6, 4, 0, 9}) {
        Completion completion;
        completion.token_ids = ids(random, length);
        for (int64_t t = 0; t < length; ++t)
          completion.sampler_logprobs.push_back(static_cast<float>(-3.0 - 5.0 * random.next_unit()));
        group.completions.push_back(std::move(completion));
      }
      groups.push_back(std::move(group));
    }
    for (const RolloutGroup& group : groups) {
      trained.push_back({&group, {}});
      for (const Completion& completion : group.completions) {
        TrainedCompletion own{.is_masked = completion.token_ids.size() == 4};
        for (size_t t = 0; t < completion.token_ids.size(); ++t) {
          own.token_advantages.push_back(static_cast<float>(2.0 * random.next_unit() - 1.0));
          own.values.push_back(static_cast<float>(random.next_unit()));
          own.returns.push_back(static_cast<float>(3.0 * random.next_unit() - 1.0));
        }
        trained.back().completions.push_back(std::move(own));
      }
    }
  }

  static std::vector<int32_t> ids(CounterRng& random, int64_t count) {
    std::vector<int32_t> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<int32_t>(random.below(300)));
    return result;
  }

  std::vector<RolloutGroup> groups;
  std::vector<TrainedGroup> trained;
};

}  // namespace cohort
