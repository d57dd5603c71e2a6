// What tests of the engine share: requests that differ in everything, what each gives alone, and what they
// ended with.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "cohort/sampler/engine.h"
#include "libs/common/random.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {

constexpr int64_t kPages = 200;

inline std::vector<int32_t> prompt_ids(uint64_t seed, int64_t length) {
  CounterRng random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>(random.below(300)));
  return ids;
}

inline SamplingParams sampling(int64_t max_length, double temperature = 1.0) {
  SamplingParams params;
  params.max_completion_length = max_length;
  params.temperature = temperature;
  params.stop_token_ids = {3, 50, 99, 121};
  return params;
}

/// What requests ended with, by their ids.
class Results {
 public:
  OnEnd collect() {
    return [this](RequestId id, const Completion& completion) {
      completions_[id] = completion;
      ++num_ends_[id];
    };
  }

  bool has(RequestId id) const { return completions_.contains(id); }
  const Completion& of(RequestId id) const { return completions_.at(id); }
  int64_t num_ends(RequestId id) const { return num_ends_.contains(id) ? num_ends_.at(id) : 0; }

 private:
  std::map<RequestId, Completion> completions_;
  std::map<RequestId, int64_t> num_ends_;
};

inline void run(Engine& engine) {
  while (engine.step()) {
  }
}

inline void expect_same(const Completion& completion, const Completion& expected) {
  EXPECT_EQ(completion.token_ids, expected.token_ids);
  EXPECT_EQ(completion.sampler_logprobs, expected.sampler_logprobs);
  EXPECT_EQ(completion.spans, expected.spans);
  EXPECT_EQ(completion.finish_reason, expected.finish_reason);
  EXPECT_EQ(completion.sample, expected.sample);
  ASSERT_EQ(completion.kept_ids.size(), expected.kept_ids.size());
  for (size_t t = 0; t < completion.kept_ids.size(); ++t) {
    const KeptIds &own = completion.kept_ids[t], &other = expected.kept_ids[t];
    EXPECT_TRUE(own == nullptr ? other == nullptr : other != nullptr && *own == *other) << t;
  }
}

class EngineTest : public testing::Test {
 protected:
  /// What a request gives in an engine of its own.
  Completion alone(Request request) const {
    Engine engine(*decoder_, nullptr, kPages);
    Completion result;
    request.on_end = [&](RequestId, const Completion& completion) { result = completion; };
    engine.add(std::move(request));
    run(engine);
    return result;
  }

  /// A request that differs from the others in everything.
  static Request mixed_request(uint64_t number) {
    CounterRng random(number);
    Request request{.token_ids = prompt_ids(random.below(4), 5 + 20 * random.below(3)),
                    .params = sampling(1 + random.below(40), random.below(3) * 0.7),
                    .address = {.seed = 7, .step = 1, .prompt = number, .sample = random.below(5)}};
    if (random.below(3) == 0) request.params.top_k = 20;
    if (random.below(3) == 0) request.params.min_tokens = 5;
    return request;
  }

  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
  const ThreadCount one_thread_{1};
};

}  // namespace cohort
