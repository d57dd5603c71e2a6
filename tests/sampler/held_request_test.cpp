// Held requests: they are extended with tokens that were not sampled, and forked.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tests/sampler/engine_case.h"

namespace cohort {
namespace {

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

TEST_F(EngineTest, CallbacksMayAsk) {
  Engine engine(*decoder_, nullptr, kPages);
  std::vector<RequestId> ended;
  Request request = greedy_request(30);
  request.is_held = true;
  int64_t num_tokens = 0;
  request.on_token = [&](const SampledToken&) { return ++num_tokens % 5 != 0; };  // five tokens a turn
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

}  // namespace
}  // namespace cohort
