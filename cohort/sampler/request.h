// A request to the engine: a prompt, the way to draw its completion, and the callbacks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cohort/rl/types.h"
#include "cohort/sampler/sampling.h"

namespace cohort {

using RequestId = int64_t;

/// The address of a completion's random numbers: its token t is drawn at (seed, step, prompt, sample, t).
struct DrawAddress {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t prompt = 0;
  uint64_t sample = 0;
};

/// Called with each token of a completion as it is drawn; false ends the completion after it.
using OnToken = std::function<bool(const SampledToken& token)>;

/// Called as a request ends, and each time that an extended one ends again.
using OnEnd = std::function<void(RequestId id, const Completion& completion)>;

struct Request {
  std::vector<int32_t> token_ids;  ///< of the prompt
  SamplingParams params{};
  DrawAddress address{};
  OnToken on_token{};
  OnEnd on_end{};
  bool is_held = false;    ///< kept at its end, with its pages, for extend() and fork(), until cancel()
  bool keeps_sets = true;  ///< the completion has the kept set of each token, which training needs
  bool caches_completion = false;  ///< the prefix cache also takes the completion, as for a conversation
};

}  // namespace cohort
