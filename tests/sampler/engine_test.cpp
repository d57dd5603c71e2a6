// Requests to the engine: they come at any time, are cancelled and recorded, and give what each gives alone.
#include "cohort/sampler/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "cohort/models/activation_record.h"
#include "cohort/models/weight_snapshot.h"
#include "cohort/sampler/sampler.h"
#include "tests/core/test_files.h"
#include "tests/sampler/engine_case.h"

namespace cohort {
namespace {

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
  const auto go_on = [](const SampledToken&) { return true; };
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

TEST_F(EngineTest, KeepsItsRecordWhileRecordedRequestsAreAlive) {
  ActivationRecord record, other;
  record.begin(*decoder_, 200);
  other.begin(*decoder_, 200);
  Engine engine(*decoder_, nullptr, kPages);
  engine.set_record(&record);
  const Request request{.token_ids = prompt_ids(1, 20), .params = sampling(8), .is_held = true};
  const RequestId held = engine.add(request);
  engine.step();
  const auto refusal = [&](ActivationRecord* next) {
    return message_of<InternalError>([&] { engine.set_record(next); });
  };
  EXPECT_NE(refusal(nullptr).find("request 0 has places in the engine's record"), std::string::npos);
  EXPECT_NO_THROW(engine.set_record(&record)) << "it is the same";
  run(engine);
  EXPECT_NE(refusal(&other).find("request 0"), std::string::npos) << "it has ended, but is held";
  engine.cancel(held);
  run(engine);
  engine.set_record(&other);
  Results results;
  Request last = request;
  last.is_held = false;
  last.on_end = results.collect();
  const RequestId recorded = engine.add(last);
  run(engine);
  engine.set_record(nullptr);
  EXPECT_TRUE(other.find(last.token_ids, results.of(recorded).token_ids));
  EXPECT_TRUE(record.find(last.token_ids, results.of(recorded).token_ids)) << "the same draws";
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
