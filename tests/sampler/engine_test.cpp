// Requests to the engine: they come at any time, are extended, forked and cancelled, and give what each gives
// alone.
#include "cohort/sampler/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "cohort/models/weight_snapshot.h"
#include "cohort/sampler/sampler.h"
#include "libs/common/random.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

constexpr int64_t kPages = 200;

std::vector<int32_t> prompt_ids(uint64_t seed, int64_t length) {
  CounterRng random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>(random.below(300)));
  return ids;
}

SamplingParams sampling(int64_t max_length, double temperature = 1.0) {
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

void run(Engine& engine) {
  while (engine.step()) {
  }
}

void expect_same(const Completion& completion, const Completion& expected) {
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

TEST_F(EngineTest, GivesEachRequestWhatItGivesAlone) {
  for (const int64_t pages : {int64_t{8}, kPages}) {
    Engine engine(*decoder_, nullptr, pages);
    Results results;
    std::map<RequestId, Completion> expected;
    for (uint64_t number = 0; number < 40; ++number) {
      Request request = mixed_request(number);
      const Completion completion = alone(request);
      request.on_end = results.collect();
      expected.emplace(engine.add(std::move(request)), completion);
      for (uint64_t i = 0; i < number % 4; ++i) engine.step();
    }
    run(engine);
    for (const auto& [id, completion] : expected) {
      SCOPED_TRACE(str("pages ", pages, ", request ", id));
      ASSERT_TRUE(results.has(id));
      expect_same(results.of(id), completion);
    }
    if (pages < kPages) {
      EXPECT_GT(engine.take_stats().num_preemptions, 0);
    }
  }
}

TEST_F(EngineTest, ARolloutIsItsRequests) {
  const std::vector<Prompt> prompts{{.id = "a", .token_ids = prompt_ids(1, 20), .text = {}},
                                    {.id = "b", .token_ids = prompt_ids(2, 33), .text = {}}};
  Sampler sampler(*decoder_, nullptr, 0);
  const RolloutAddress address{.seed = 3, .step = 5, .first_prompt = 9, .first_sample = 2};
  const auto groups = sampler.rollout(prompts, 3, sampling(20), address);
  for (uint64_t p = 0; p < 2; ++p) {
    for (uint64_t g = 0; g < 3; ++g) {
      expect_same(groups[p].samples[g].completion,
                  alone({.token_ids = prompts[p].token_ids,
                         .params = sampling(20),
                         .address = {.seed = 3, .step = 5, .prompt = 9 + p, .sample = 2 + g}}));
    }
  }
}

TEST_F(EngineTest, ThreadsMayAskAtAnyTime) {
  constexpr uint64_t kThreads = 4, kRequests = 10;
  std::vector<Completion> expected;
  for (uint64_t number = 0; number < kThreads * kRequests; ++number)
    expected.push_back(alone(mixed_request(number)));
  Engine engine(*decoder_, nullptr, kPages);
  std::map<uint64_t, Completion> results;  // written by the thread that steps
  std::atomic<uint64_t> num_left = kThreads;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kRequests; ++i) {
        const uint64_t number = t * kRequests + i;
        Request request = mixed_request(number);
        request.on_end = [&results, number](RequestId, const Completion& completion) {
          results[number] = completion;
        };
        engine.add(std::move(request));
        Request unwanted = mixed_request(number + 1000);
        unwanted.params.max_completion_length = 200;
        unwanted.params.stop_token_ids.clear();
        engine.cancel(engine.add(std::move(unwanted)));
        std::this_thread::yield();
      }
      --num_left;
    });
  }
  while (engine.step() || num_left > 0) {
  }
  for (std::thread& thread : threads) thread.join();
  run(engine);
  ASSERT_EQ(results.size(), expected.size());
  for (const auto& [number, completion] : results) {
    SCOPED_TRACE(number);
    expect_same(completion, expected[number]);
  }
}

/// A held request that has ended, for extend() and fork().
struct Held {
  Engine engine;
  Results results;
  RequestId id;

  Held(const Decoder& decoder, Request request, int64_t pages = kPages) : engine(decoder, nullptr, pages) {
    request.is_held = true;
    request.on_end = results.collect();
    id = engine.add(std::move(request));
    run(engine);
  }
  const Completion& completion() const { return results.of(id); }
};

Request greedy_request(int64_t max_length, std::vector<int32_t> stops = {}) {
  SamplingParams params = sampling(max_length, 0.0);
  params.stop_token_ids = std::move(stops);
  return {.token_ids = prompt_ids(5, 21), .params = params, .address = {.seed = 7, .prompt = 2}};
}

TEST_F(EngineTest, GoesOnAfterInjectedTokens) {
  // The first turn ends with what greedy decoding draws as its seventh token.
  const Completion whole = alone(greedy_request(40));
  const int32_t stop = whole.token_ids[6];
  const auto end = std::ranges::find(whole.token_ids, stop) - whole.token_ids.begin() + 1;
  Held held(*decoder_, greedy_request(40, {stop}));
  ASSERT_EQ(std::ssize(held.completion().token_ids), end);
  EXPECT_EQ(held.completion().finish_reason, FinishReason::kStop);
  held.engine.take_stats();
  const std::vector<int32_t> injected{11, 12, 13, 14, 15};
  held.engine.extend(held.id, injected);
  run(held.engine);
  EXPECT_EQ(held.results.num_ends(held.id), 2);
  const Completion& completion = held.completion();
  EXPECT_NO_THROW(check_completion(completion));
  ASSERT_EQ(completion.spans.size(), 3u);
  EXPECT_EQ(completion.spans[0], (TokenSpan{TokenOrigin::kSampled, 0, 0, 0, end}));
  EXPECT_EQ(completion.spans[1], (TokenSpan{TokenOrigin::kInjected, 0, 0, end, 5}));
  EXPECT_EQ(completion.spans[2].origin, TokenOrigin::kSampled);
  EXPECT_EQ(completion.spans[2].turn, 1);
  EXPECT_EQ(std::ssize(completion.sampler_logprobs), std::ssize(completion.token_ids) - 5);
  // What was forwarded before is not forwarded again: the last token of the first turn, the injected ones,
  // and all new ones but the last.
  EXPECT_EQ(held.engine.take_stats().completion_rows, 1 + 5 + completion.spans[2].count - 1);

  // The same text as a prompt gives the same tokens and log-probabilities.
  Request request = greedy_request(40 - end - 5, {stop});
  request.token_ids.insert(request.token_ids.end(), completion.token_ids.begin(),
                           completion.token_ids.begin() + end + 5);
  const Completion fresh = alone(request);
  EXPECT_TRUE(std::ranges::equal(fresh.token_ids, std::span(completion.token_ids).subspan(end + 5)));
  EXPECT_TRUE(
      std::ranges::equal(fresh.sampler_logprobs, std::span(completion.sampler_logprobs).subspan(end)));
}

TEST_F(EngineTest, ExtensionsDoNotDependOnThePages) {
  // Others take the pages of what is held; it is forwarded again when it goes on.
  Completion expected;
  for (const bool crowds : {false, true}) {
    Request request = mixed_request(3);
    request.params = sampling(60);
    request.params.max_completion_length = 60;
    request.params.stop_token_ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    Held held(*decoder_, request, 14);
    held.engine.take_stats();
    Results others;
    for (uint64_t number = 0; crowds && number < 12; ++number) {
      Request other = mixed_request(number);
      other.params = sampling(40);
      other.params.stop_token_ids.clear();
      other.on_end = others.collect();
      held.engine.add(std::move(other));
    }
    run(held.engine);
    if (crowds) {
      EXPECT_GT(held.engine.take_stats().num_preemptions, 0);
    }
    held.engine.extend(held.id, {40, 41, 42});
    run(held.engine);
    if (crowds) {
      expect_same(held.completion(), expected);
    } else {
      expected = held.completion();
      EXPECT_GT(expected.spans.size(), 2u);
    }
  }
}

TEST_F(EngineTest, TakesNoTokensThatDoNotFit) {
  Held held(*decoder_, greedy_request(12));
  EXPECT_EQ(held.completion().token_ids.size(), 12u);
  held.engine.extend(held.id, {1});
  run(held.engine);
  EXPECT_EQ(held.results.num_ends(held.id), 2);
  EXPECT_EQ(held.completion().token_ids.size(), 12u);
  EXPECT_EQ(held.completion().finish_reason, FinishReason::kLength);

  const int32_t stop = held.completion().token_ids[3];
  Held short_one(*decoder_, greedy_request(12, {stop}));
  const auto length = std::ssize(short_one.completion().token_ids);
  short_one.engine.extend(short_one.id, std::vector<int32_t>(12 - length, 1));
  run(short_one.engine);
  EXPECT_EQ(std::ssize(short_one.completion().token_ids), length)
      << "there is no room for a token behind them";
  EXPECT_EQ(short_one.completion().finish_reason, FinishReason::kLength);
  short_one.engine.extend(short_one.id, std::vector<int32_t>(11 - length, 1));
  run(short_one.engine);
  EXPECT_EQ(short_one.completion().token_ids.size(), 12u);
}

TEST_F(EngineTest, ForksDrawTheirOwnTokensAfterSharedOnes) {
  Request request{
      .token_ids = prompt_ids(5, 21), .params = sampling(40), .address = {.seed = 7, .prompt = 2}};
  request.params.stop_token_ids.clear();
  Held held(*decoder_, request);
  const Completion source = held.completion();
  held.engine.take_stats();
  for (const int64_t at : {0, 1, 10, 11, 27, 28, 39}) {
    SCOPED_TRACE(at);
    // At the source's own address the same tokens come again.
    const RequestId same = held.engine.fork(held.id, at, {.seed = 7, .prompt = 2});
    const RequestId other = held.engine.fork(held.id, at, {.seed = 7, .prompt = 2, .sample = 1});
    run(held.engine);
    expect_same(held.results.of(same), source);
    const Completion& fork = held.results.of(other);
    EXPECT_NO_THROW(check_completion(fork));
    EXPECT_TRUE(
        std::ranges::equal(std::span(fork.token_ids).first(at), std::span(source.token_ids).first(at)));
    EXPECT_NE(fork.token_ids, source.token_ids);
    EXPECT_EQ(fork.sample, 1);
    // 21 tokens of the prompt; of what is shared only the rows of the last page are forwarded again.
    const int64_t known = at == 0 ? 20 : std::min<int64_t>(21 + at - 1, 21 + 40 - 1) / kPageRows * kPageRows;
    EXPECT_EQ(held.engine.take_stats().completion_rows, 2 * (21 + 40 - 1 - known));
    held.engine.cancel(same);
    held.engine.cancel(other);
  }
  // A fork of a fork, with tokens injected in between.
  const RequestId child = held.engine.fork(held.id, 5, {.seed = 8});
  held.engine.extend(child, {1, 2});
  run(held.engine);
  const RequestId grandchild = held.engine.fork(child, 6, {.seed = 8, .sample = 4});
  run(held.engine);
  const Completion& last = held.results.of(grandchild);
  EXPECT_EQ(last.token_ids[5], 1);
  EXPECT_EQ(last.spans[1], (TokenSpan{TokenOrigin::kInjected, 0, 0, 5, 1}));
  EXPECT_NO_THROW(check_completion(last));
}

TEST_F(EngineTest, ACancelledRequestIsGone) {
  Engine engine(*decoder_, nullptr, kPages);
  Results results;
  const auto add = [&](uint64_t number) {
    Request request = mixed_request(number);
    request.params = sampling(30);
    request.params.stop_token_ids.clear();
    request.on_end = results.collect();
    return engine.add(std::move(request));
  };
  Request expected = mixed_request(1);
  expected.params = sampling(30);
  expected.params.stop_token_ids.clear();
  const Completion alone_completion = alone(expected);
  const RequestId early = add(0), kept = add(1), running = add(2);
  engine.cancel(early);
  for (int i = 0; i < 10; ++i) engine.step();
  engine.cancel(running);
  const RequestId waiting = add(3);
  engine.cancel(waiting);
  engine.cancel(waiting);  // a second time does nothing
  run(engine);
  EXPECT_FALSE(results.has(early) || results.has(running) || results.has(waiting));
  expect_same(results.of(kept), alone_completion);
  engine.cancel(kept);
  EXPECT_FALSE(engine.step());
  // The pages are free again: a request that needs nearly all of them runs.
  Engine small(*decoder_, nullptr, 6);
  const RequestId large =
      small.add({.token_ids = prompt_ids(1, 60), .params = sampling(15), .is_held = true});
  run(small);
  small.cancel(large);
  small.add({.token_ids = prompt_ids(2, 60), .params = sampling(15), .on_end = results.collect()});
  run(small);
  EXPECT_EQ(small.take_stats().num_preemptions, 0);
}

TEST_F(EngineTest, CallbacksMayAsk) {
  Engine engine(*decoder_, nullptr, kPages);
  std::vector<RequestId> ended;
  Request request = greedy_request(30);
  request.is_held = true;
  int64_t num_tokens = 0;
  request.on_token = [&](int32_t) { return ++num_tokens % 5 != 0; };  // five tokens a turn
  request.on_end = [&](RequestId id, const Completion& completion) {
    ended.push_back(id);
    EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
    if (ended.size() < 3) {
      engine.extend(id, {17});
    } else {
      EXPECT_EQ(completion.token_ids.size(), 17u);
      engine.cancel(id);
    }
  };
  const RequestId id = engine.add(std::move(request));
  run(engine);
  EXPECT_EQ(ended, std::vector<RequestId>(3, id));
}

TEST_F(EngineTest, NewWeightsForgetTheCache) {
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  const auto other = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  randomize(*other, 99);
  const auto draw = [&](const Decoder& with, Engine* engine) {
    std::optional<Engine> own;
    if (engine == nullptr) engine = &own.emplace(with, nullptr, kPages);
    Results results;
    const RequestId id = engine->add({.token_ids = prompt_ids(4, 40),
                                      .params = sampling(20),
                                      .address = {.seed = 3},
                                      .on_end = results.collect()});
    run(*engine);
    return results.of(id);
  };
  Engine engine(*decoder, nullptr, kPages);
  const Completion first = draw(*decoder, &engine);
  EXPECT_EQ(engine.take_stats().prompt_rows, 40);
  expect_same(draw(*decoder, &engine), first);
  EXPECT_EQ(engine.take_stats().prompt_rows, 40 - 32) << "two pages are known";

  // One runs while the weights change: it goes on with the new ones.
  Results results;
  Request request{.token_ids = prompt_ids(4, 40), .params = sampling(20, 0.0), .on_end = results.collect()};
  request.params.stop_token_ids.clear();
  const RequestId running = engine.add(request);
  for (int i = 0; i < 6; ++i) engine.step();
  randomize(*decoder, 99);
  engine.set_policy_version(1);
  engine.take_stats();
  const Completion second = draw(*decoder, &engine);
  expect_same(second, [&] {
    Completion expected = draw(*other, nullptr);
    expected.spans[0].policy_version = 1;
    return expected;
  }());
  const Completion& mixed = results.of(running);
  ASSERT_EQ(mixed.spans.size(), 2u);
  EXPECT_EQ(mixed.spans[0].policy_version, 0);
  EXPECT_EQ(mixed.spans[1].policy_version, 1);
  Request rest = request;
  rest.token_ids.insert(rest.token_ids.end(), mixed.token_ids.begin(),
                        mixed.token_ids.begin() + mixed.spans[0].count);
  rest.params.max_completion_length -= mixed.spans[0].count;
  Completion continued;
  rest.on_end = [&](RequestId, const Completion& completion) { continued = completion; };
  Engine fresh(*other, nullptr, kPages);
  fresh.add(rest);
  run(fresh);
  EXPECT_TRUE(
      std::ranges::equal(continued.token_ids, std::span(mixed.token_ids).subspan(mixed.spans[0].count)));
}

TEST_F(EngineTest, ThePrefixCacheOutlivesACall) {
  Sampler sampler(*decoder_, nullptr, 1600);
  const std::vector<Prompt> prompts{{.id = "a", .token_ids = prompt_ids(1, 50), .text = {}}};
  const auto first = sampler.rollout(prompts, 2, sampling(20), {});
  EXPECT_EQ(sampler.stats().prompt_rows, 50);
  const auto again = sampler.rollout(prompts, 2, sampling(20), {});
  EXPECT_EQ(sampler.stats().prompt_rows, 2);
  for (int64_t g = 0; g < 2; ++g) expect_same(again[0].samples[g].completion, first[0].samples[g].completion);
  sampler.release_cache();
  sampler.rollout(prompts, 2, sampling(20), {});
  EXPECT_EQ(sampler.stats().prompt_rows, 50);
}

TEST_F(EngineTest, AConversationGoesOnFromWhatIsKnown) {
  Sampler sampler(*decoder_, nullptr, 1600);
  const auto go_on = [](int32_t) { return true; };
  Prompt prompt{.id = "turn", .token_ids = prompt_ids(1, 20), .text = {}};
  SamplingParams params = sampling(30);
  params.stop_token_ids.clear();
  const Completion answer = sampler.stream(prompt, params, {}, go_on);
  prompt.token_ids.insert(prompt.token_ids.end(), answer.token_ids.begin(), answer.token_ids.end());
  prompt.token_ids.insert(prompt.token_ids.end(), {1, 2, 3});
  const Completion next = sampler.stream(prompt, params, {.seed = 1}, go_on);
  EXPECT_EQ(sampler.stats().prompt_rows, 53 - 48) << "49 of 50 tokens were forwarded: three full pages";
  Sampler fresh(*decoder_, nullptr, 1600);
  expect_same(next, fresh.stream(prompt, params, {.seed = 1}, go_on));
}

TEST_F(EngineTest, RefusesWhatCannotBeDone) {
  Engine engine(*decoder_, nullptr, 4);
  const auto refusal = [&](auto call) { return message_of<UserError>(call); };
  EXPECT_EQ(refusal([&] { engine.add({.token_ids = {}}); }), "the prompt: the prompt has no tokens");
  EXPECT_NE(refusal([&] { engine.add({.token_ids = {300}}); }).find("outside the vocabulary"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              engine.add({.token_ids = prompt_ids(1, 50), .params = sampling(50)});
            }).find("give at least"),
            std::string::npos);
  Request with_stops{.token_ids = {1}, .params = sampling(5)};
  with_stops.params.stop_strings = {"a"};
  EXPECT_NE(refusal([&] { engine.add(with_stops); }).find("stop_strings need a tokenizer"),
            std::string::npos);
  const RequestId id = engine.add({.token_ids = {1}, .params = sampling(5)});
  EXPECT_EQ(refusal([&] { engine.extend(id, {1}); }),
            "request 0 is not held: it was cancelled or not added so");
  EXPECT_EQ(refusal([&] { engine.fork(id, 0, {}); }),
            "request 0 is not held: it was cancelled or not added so");
  const RequestId held = engine.add({.token_ids = {1}, .params = sampling(5), .is_held = true});
  EXPECT_NE(refusal([&] { engine.extend(held, {-1}); }).find("outside the model's vocabulary"),
            std::string::npos);
  run(engine);
  engine.fork(held, 9, {});
  EXPECT_NE(refusal([&] { engine.step(); }).find("fork at 9: request 1 has"), std::string::npos);
  engine.cancel(held);
  EXPECT_NE(refusal([&] { engine.extend(held, {1}); }).find("is not held"), std::string::npos);
  run(engine);
}

// The sampler of an asynchronous run: it draws from a snapshot while another thread updates the decoder.
TEST_F(EngineTest, DrawsFromASnapshotWhileTheDecoderIsTrained) {
  std::vector<Completion> expected;
  for (uint64_t number = 0; number < 8; ++number) expected.push_back(alone(mixed_request(number)));
  const WeightSnapshot snapshot = WeightSnapshot::of_now(*decoder_);
  Engine engine(snapshot.decoder(), nullptr, kPages);
  Results results;
  std::vector<RequestId> ids;
  for (uint64_t number = 0; number < 8; ++number) {
    Request request = mixed_request(number);
    request.on_end = results.collect();
    ids.push_back(engine.add(std::move(request)));
  }
  std::atomic<bool> is_drawn = false;
  std::thread trainer([&] {
    const at::NoGradGuard no_grad;
    do {
      for (const at::Tensor& parameter : decoder_->parameters()) parameter.mul_(0.9);
      decoder_->refresh();
    } while (!is_drawn);
  });
  run(engine);
  is_drawn = true;
  trainer.join();
  for (size_t i = 0; i < ids.size(); ++i) expect_same(results.of(ids[i]), expected[i]);
  Request request = mixed_request(3);
  EXPECT_NE(alone(request).sampler_logprobs, expected[3].sampler_logprobs) << "the decoder was trained";
}

}  // namespace
}  // namespace cohort
