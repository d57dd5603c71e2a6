// Episodes in a rollout: what the policy says depends on the replies alone, and never on when they come.
#include "cohort/env/episodes.h"

#include <atomic>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/env/worker_threads.h"
#include "cohort/sampler/sampler.h"
#include "libs/common/hash.h"
#include "tests/env/chat_case.h"
#include "tests/sampler/engine_case.h"

namespace cohort {
namespace {

/// Tokens that end a turn of the random policy soon.
const std::vector<int32_t> kStops{kEnd, 3, 50, 99, 121, 200, 201, 202, 203, 204, 205, 206, 207};

/// How an environment behaves; nothing but its delays may change nothing.
struct Behavior {
  int64_t most_turns = 5;
  int64_t delay_ms = 0;       ///< random, up to this
  int64_t failing_turn = -1;  ///< replies with a failure there
  int64_t silent_turn = -1;   ///< never replies there
  int64_t num_threads = 8;
  int64_t reply_length = 5;
  std::string opening{};
  std::string opening_failure{};
  bool judges = false;
  bool rewards_turns = false;  ///< turn k gets k / 4, apart from turn 1
  bool has_states = false;     ///< the number of turns so far, and after turn 2 the same again
};

/// Replies to each turn with a text that is a function of what the policy said.
class Echo : public Environment {
 public:
  explicit Echo(Behavior behavior) : behavior_(std::move(behavior)), threads_(behavior_.num_threads) {}

  bool gives_rewards() const override { return behavior_.judges; }
  bool gives_turn_rewards() const override { return behavior_.rewards_turns; }
  bool gives_states() const override { return behavior_.has_states; }

  std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) override {
    std::vector<Opening> openings;
    for (const EpisodeStart& start : starts) {
      const std::string own = behavior_.opening.empty() ? "" : str(behavior_.opening, start.sample);
      openings.push_back({std::make_unique<EchoEpisode>(*this, start.seed), own, behavior_.opening_failure});
      if (behavior_.has_states) openings.back().state = 0;
    }
    return openings;
  }

  std::atomic<int64_t> num_judged = 0;

 private:
  class EchoEpisode : public Episode {
   public:
    EchoEpisode(Echo& echo, uint64_t seed) : echo_(echo), seed_(seed) {}

    void respond(const AssistantMessage& turn, bool, Begun begun, Answer answer) override {
      const Behavior& behavior = echo_.behavior_;
      const int64_t number = num_turns_++;
      if (number == behavior.silent_turn) return;
      Reply reply{.is_last = number + 1 == behavior.most_turns};
      if (number == behavior.failing_turn) reply.failure = "it broke";
      if (number == 0) reply.times = {{"echo", 0.5}, {"shout", 0.25}};
      if (behavior.rewards_turns && number != 1) reply.reward = 0.25 * static_cast<double>(number);
      if (behavior.has_states && number != 2) reply.state = num_turns_;
      const std::string text = std::to_string(fnv1a(turn.content) ^ seed_).substr(0, behavior.reply_length);
      reply.messages.push_back({{"role", "user"}, {"content", text}});
      const auto delay = static_cast<int64_t>(seed_ ^ fnv1a(text)) % (behavior.delay_ms + 1);
      echo_.threads_.add(
          [delay, reply = std::move(reply), begun = std::move(begun), answer = std::move(answer)] {
            begun();
            std::this_thread::sleep_for(std::chrono::milliseconds(std::abs(delay)));
            answer(reply);
          });
    }

    void judge(Begun, Judgement judgement) override {
      ++echo_.num_judged;
      judgement({static_cast<double>(num_turns_)});
    }

   private:
    Echo& echo_;
    uint64_t seed_;
    int64_t num_turns_ = 0;
  };

  Behavior behavior_;
  WorkerThreads threads_;
};

class EpisodesTest : public testing::Test {
 protected:
  std::vector<Group> rollout(const Behavior& behavior, EpisodeLimits limits = {}, int64_t cache_tokens = 0,
                             int64_t max_length = 150, const OnCompletion& on_completion = {}) {
    Echo echo(behavior);
    const TurnFormat format = chat_.turns(kStops);
    Episodes episodes(echo, format, limits);
    Sampler sampler(*decoder_, &chat_.tokenizer(), cache_tokens);
    SamplingParams params = sampling(max_length);
    params.stop_token_ids = kStops;
    std::vector<Prompt> prompts;
    for (int i = 0; i < 3; ++i) {
      Prompt prompt{.id = str("p", i), .token_ids = {}, .text = ""};
      prompt.fields["prompt_messages"] = Json::array({{{"role", "user"}, {"content", str("Begin ", i)}}});
      prompt.token_ids = format.opened_prompt(prompt, "");
      prompts.push_back(std::move(prompt));
    }
    auto groups = sampler.rollout(prompts, {4, 4, 4}, params, {.seed = 11, .step = 2}, 0, on_completion,
                                  nullptr, &episodes);
    num_judged_ = echo.num_judged;
    times_ = *episodes.take_times();
    EXPECT_TRUE(episodes.take_times()->of_calls.empty());
    return groups;
  }

  static void expect_same_groups(const std::vector<Group>& groups, const std::vector<Group>& expected) {
    ASSERT_EQ(groups.size(), expected.size());
    for (size_t p = 0; p < groups.size(); ++p) {
      EXPECT_EQ(groups[p].prompt.token_ids, expected[p].prompt.token_ids);
      for (size_t g = 0; g < groups[p].samples.size(); ++g) {
        const Completion &own = groups[p].samples[g].completion, &other = expected[p].samples[g].completion;
        expect_same(own, other);
        EXPECT_EQ(own.text, other.text);
        EXPECT_EQ(own.episode->messages, other.episode->messages);
        EXPECT_EQ(own.episode->num_turns, other.episode->num_turns);
      }
    }
  }

  const ChatCase chat_;
  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
  const ThreadCount one_thread_{1};
  int64_t num_judged_ = 0;
  ReplyTimes times_;
};

TEST_F(EpisodesTest, TurnsAndRepliesAlternate) {
  int64_t num_ended = 0;
  const auto groups = rollout({}, {}, 0, 150, [&](int64_t, int64_t, const Completion&) { ++num_ended; });
  EXPECT_EQ(num_ended, 12);
  int64_t most_turns = 0;
  for_each_sample(groups, [&](const Sample& sample) {
    const Completion& completion = sample.completion;
    EXPECT_NO_THROW(check_completion(completion));
    const EpisodeRecord& record = *completion.episode;
    most_turns = std::max(most_turns, record.num_turns);
    ASSERT_EQ(std::ssize(completion.spans), 2 * record.num_turns - 1);
    for (size_t s = 0; s < completion.spans.size(); ++s) {
      const TokenSpan& span = completion.spans[s];
      EXPECT_EQ(span.origin, s % 2 == 0 ? TokenOrigin::kSampled : TokenOrigin::kInjected);
      if (s % 2 == 0) continue;
      const std::vector<int32_t> ids(completion.token_ids.begin() + span.first,
                                     completion.token_ids.begin() + span.end());
      const std::string reply = record.messages[s].at("content").get<std::string>();
      EXPECT_TRUE(
          chat_.decoded(ids).ends_with("<|im_start|>user\n" + reply + "<|im_end|>\n<|im_start|>assistant\n"));
    }
    EXPECT_EQ(record.messages.front().at("role"), "assistant");
  });
  EXPECT_GT(most_turns, 2);
}

TEST_F(EpisodesTest, DelaysAndCachesChangeNothing) {
  const auto expected = rollout({});
  expect_same_groups(rollout({.delay_ms = 40}), expected);
  expect_same_groups(rollout({.delay_ms = 15}, {}, 320), expected);
}

TEST_F(EpisodesTest, LimitsEndEpisodes) {
  for_each_sample(rollout({}, {.max_turns = 2}), [&](const Sample& sample) {
    EXPECT_LE(sample.completion.episode->num_turns, 2);
    EXPECT_EQ(sample.completion.spans.back().origin, TokenOrigin::kSampled);
  });
  // A reply that finds no room is taken back, and the completion ends before it.
  int64_t num_cut = 0;
  for_each_sample(rollout({.most_turns = 100}, {}, 0, 60), [&](const Sample& sample) {
    const Completion& completion = sample.completion;
    EXPECT_LE(completion.token_ids.size(), 60u);
    EXPECT_EQ(completion.spans.back().origin, TokenOrigin::kSampled);
    EXPECT_EQ(completion.episode->messages.back().at("role"), "assistant");
    num_cut += completion.finish_reason == FinishReason::kLength;
  });
  EXPECT_EQ(num_cut, 12);
}

TEST_F(EpisodesTest, AFailureEndsItsEpisodesAlone) {
  const auto expected = rollout({});
  int64_t num_failed = 0;
  const auto groups = rollout({.failing_turn = 1});
  for (size_t p = 0; p < groups.size(); ++p) {
    for (size_t g = 0; g < groups[p].samples.size(); ++g) {
      const Completion &own = groups[p].samples[g].completion, &whole = expected[p].samples[g].completion;
      EXPECT_TRUE(std::ranges::equal(own.token_ids, std::span(whole.token_ids).first(own.token_ids.size())));
      if (own.episode->failure.empty()) continue;
      EXPECT_EQ(own.episode->failure, "it broke");
      EXPECT_EQ(own.episode->num_turns, 2);
      ++num_failed;
    }
  }
  EXPECT_GT(num_failed, 3);
}

TEST_F(EpisodesTest, TimesOfCallsAndWaitsAreKept) {
  int64_t num_replied = 0;
  for_each_sample(rollout({.delay_ms = 30}), [&](const Sample& sample) {
    num_replied += sample.completion.episode->messages.size() > 1;
  });
  EXPECT_EQ(times_.of_calls.at("echo"), std::vector<double>(num_replied, 0.5));
  EXPECT_EQ(times_.of_calls.at("shout"), std::vector<double>(num_replied, 0.25));
  EXPECT_GT(times_.idle_s, 0.0);
}

TEST_F(EpisodesTest, SilenceFailsAtTheDeadline) {
  int64_t num_failed = 0;
  for_each_sample(rollout({.silent_turn = 0}, {.timeout_s = 0.05}), [&](const Sample& sample) {
    const EpisodeRecord& record = *sample.completion.episode;
    if (sample.completion.finish_reason == FinishReason::kLength) return;
    EXPECT_EQ(record.failure, "the environment did not answer within 0.05 s");
    ++num_failed;
  });
  EXPECT_GT(num_failed, 8);
}

TEST_F(EpisodesTest, ATurnThatWaitsForAThreadHasTimeYet) {
  // On one thread the replies take more than 1.5 s together, and each takes at most 0.3 s.
  for_each_sample(rollout({.most_turns = 2, .delay_ms = 300, .num_threads = 1}, {.timeout_s = 1.5}),
                  [&](const Sample& sample) { EXPECT_EQ(sample.completion.episode->failure, ""); });
}

TEST_F(EpisodesTest, AnEpisodeThatCannotBeginFailsAfterItsFirstTurn) {
  for_each_sample(rollout({.opening_failure = "reset() raised"}), [&](const Sample& sample) {
    EXPECT_EQ(sample.completion.episode->failure, "reset() raised");
    EXPECT_EQ(sample.completion.episode->num_turns, 1);
    EXPECT_GT(sample.completion.num_sampled(), 0);
  });
}

TEST_F(EpisodesTest, WhatEpisodesSeeFirstIsNotSampled) {
  // The samples of a prompt see different texts: these begin their completions, and the prompt is what they
  // share.
  const auto groups = rollout({.opening = " room "});
  for (const Group& group : groups) {
    for (size_t g = 0; g < group.samples.size(); ++g) {
      const Completion& completion = group.samples[g].completion;
      EXPECT_EQ(completion.spans.front().origin, TokenOrigin::kInjected);
      std::vector<int32_t> ids = group.prompt.token_ids;
      ids.insert(ids.end(), completion.token_ids.begin(),
                 completion.token_ids.begin() + completion.spans[0].count);
      EXPECT_TRUE(chat_.decoded(ids).ends_with(str(" room ", g, "<|im_end|>\n<|im_start|>assistant\n")));
      EXPECT_EQ(completion.episode->opening, str(" room ", g));
    }
  }
}

TEST_F(EpisodesTest, TheEnvironmentJudgesEndedEpisodesOnce) {
  const auto groups = rollout({.judges = true});
  EXPECT_EQ(num_judged_, 12);
  for_each_sample(groups, [&](const Sample& sample) {
    ASSERT_TRUE(sample.completion.episode->reward);
    EXPECT_EQ(sample.completion.episode->reward->status, RewardStatus::kOk);
  });
}

TEST_F(EpisodesTest, TurnsHaveRewardsAndTheStatesBeforeThem) {
  int64_t most_turns = 0;
  for_each_sample(rollout({.rewards_turns = true, .has_states = true}), [&](const Sample& sample) {
    const EpisodeRecord& record = *sample.completion.episode;
    most_turns = std::max(most_turns, record.num_turns);
    const std::vector<int64_t> states{0, 1, 2, 2, 4}, ends = turn_ends(sample.completion);
    ASSERT_EQ(std::ssize(ends), record.num_turns);
    EXPECT_TRUE(std::ranges::equal(record.turn_states, std::span(states).first(record.num_turns)));
    ASSERT_TRUE(record.reward);
    EXPECT_EQ(record.reward->score, 0.0);
    // A turn that was cut has no reply; one whose reply found no room has a reward.
    const bool is_cut = std::ranges::count(kStops, sample.completion.token_ids.back()) == 0;
    const int64_t num_replies = record.num_turns - (is_cut ? 1 : 0);
    std::vector<StepReward> expected;
    for (int64_t k = 0; k < num_replies; ++k) {
      if (k != 1) expected.push_back({ends[k], 0.25 * static_cast<double>(k)});
    }
    ASSERT_EQ(record.turn_rewards.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(record.turn_rewards[i].end, expected[i].end);
      EXPECT_EQ(record.turn_rewards[i].score, expected[i].score);
    }
  });
  EXPECT_GT(most_turns, 3);
}

TEST_F(EpisodesTest, ATurnHasALengthOfItsOwn) {
  Echo echo({});
  const TurnFormat format = chat_.turns(kStops);
  Episodes episodes(echo, format, {});
  Sampler sampler(*decoder_, &chat_.tokenizer(), 0);
  SamplingParams params = sampling(100);
  params.stop_token_ids = kStops;
  params.max_turn_length = 7;
  const Prompt prompt{.id = "p", .token_ids = prompt_ids(1, 12), .text = ""};
  for_each_sample(sampler.rollout({prompt}, {8}, params, {.seed = 1}, 0, {}, nullptr, &episodes),
                  [&](const Sample& s) {
                    for (const TokenSpan& span : s.completion.spans) {
                      if (span.origin == TokenOrigin::kSampled) {
                        EXPECT_LE(span.count, 7);
                      }
                    }
                    if (s.completion.finish_reason == FinishReason::kLength) {
                      EXPECT_EQ(s.completion.spans.back().count, 7);
                    }
                  });
}

}  // namespace
}  // namespace cohort
