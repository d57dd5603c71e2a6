// Batches on disk: every field comes back bit for bit, and a file that is cut or damaged is told as such.
#include "cohort/rl/batch_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr float kNanWithPayload = std::bit_cast<float>(0x7fc12345U);

Sample rich_sample() {
  Sample sample;
  Completion& completion = sample.completion;
  completion.append(5, TokenOrigin::kSampled, 0, 3);
  completion.append(6, TokenOrigin::kInjected, 1, 3);
  completion.append(7, TokenOrigin::kSampled, 1, 4);
  completion.sampler_logprobs = {-0.25F, kNanWithPayload};
  const auto kept = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{5, 7, 9});
  completion.kept_ids = {kept, nullptr};
  completion.finish_reason = FinishReason::kStop;
  completion.sample = 11;
  completion.text = std::string("a\0\xff\n", 4);
  completion.episode = {.number = 3,
                        .opening = "a room",
                        .messages = Json::parse(R"([{"role": "assistant", "content": "go"}])"),
                        .num_turns = 2,
                        .num_calls = 4,
                        .num_failed_calls = 1,
                        .turn_rewards = {{2, 0.5}},
                        .turn_states = {-7, int64_t{1} << 62},
                        .reward = RewardResult{.score = 0.25},
                        .failure = "it broke"};
  sample.rewards = {
      {.score = -0.0, .status = RewardStatus::kOk, .detail = "fine", .steps = {{2, 0.5}, {3, -1.0}}},
      {.score = 0.0, .status = RewardStatus::kTimeout, .detail = "late", .steps = {}}};
  sample.reward = std::numeric_limits<double>::quiet_NaN();
  sample.advantage = 1e-310;  // a subnormal
  sample.token_advantages = {1.0F, -0.0F};
  sample.mask = LossMask::kMonitor;
  sample.is_demonstration = true;
  sample.old_logprobs = {-1.0F, -2.0F};
  sample.ref_logprobs = {-3.0F, -4.0F};
  sample.entropies = {0.5F, 0.25F};
  sample.values = {1.5F, 2.5F};
  sample.returns = {3.5F, 4.5F};
  sample.prompt_ids = {4, 5};
  sample.branches.emplace_back().prompt_ids = {6};
  sample.fork = {.of = 3, .num_segments = 2, .num_tokens = 9};
  return sample;
}

Batch rich_batch() {
  Batch batch{.step = 17, .reward_names = {"a", "b"}, .reward_weights = {1.0, 0.1}, .gives_steps = {1, 0}};
  Prompt prompt{.id = "file:3", .token_ids = {1, 2}, .text = "2 + 2 =", .fields = {}};
  prompt.fields = {{"z", 1}, {"answer", "4"}, {"list", {1.5, nullptr, true}}};
  batch.groups.push_back({.prompt = prompt,
                          .samples = {rich_sample(), {}},
                          .beta = 0.125,
                          .num_kept = 2,
                          .has_no_difference = true});
  batch.groups.push_back({.prompt = {.id = "empty", .token_ids = {}, .text = ""}});
  batch.untrained.push_back({{.prompt = prompt, .samples = {rich_sample()}}, Untrained::kSurplus, 1});
  return batch;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BatchFile : public testing::Test {
 protected:
  /// The batch of these bytes; nothing if they are refused, which must name the file.
  std::optional<ReadBatch> read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    try {
      return read_batch(path_);
    } catch (const FormatError& error) {
      error_ = error.what();
      EXPECT_EQ(error_.find(path_.string()), 0u) << error_;
      return std::nullopt;
    }
  }

  TemporaryDirectory directory_;
  const fs::path path_ = directory_.path() / "step.batch";
  std::string error_;
};

TEST_F(BatchFile, EveryFieldComesBackBitForBit) {
  const Batch batch = rich_batch();
  write_batch(path_, batch);
  EXPECT_EQ(bytes_of(path_), to_bytes(batch));
  const ReadBatch read = read_batch(path_);
  EXPECT_TRUE(read.is_finished);
  EXPECT_EQ(to_bytes(read.batch), to_bytes(batch));

  EXPECT_EQ(read.batch.step, 17);
  EXPECT_EQ(read.batch.reward_names, batch.reward_names);
  EXPECT_EQ(read.batch.reward_weights, batch.reward_weights);
  EXPECT_EQ(read.batch.gives_steps, batch.gives_steps);
  ASSERT_EQ(read.batch.groups.size(), 2u);
  const Group& group = read.batch.groups.front();
  EXPECT_EQ(group.prompt.id, "file:3");
  ASSERT_EQ(group.samples.front().branches.size(), 1u);
  EXPECT_EQ(group.samples.front().prompt_ids, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(group.samples.front().branches.front().prompt_ids, (std::vector<int32_t>{6}));
  EXPECT_EQ(group.samples.front().fork, (ForkPlace{3, 2, 9}));
  EXPECT_FALSE(group.samples.back().fork.has_value());
  EXPECT_EQ(group.prompt.token_ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(group.prompt.text, "2 + 2 =");
  EXPECT_EQ(to_json_text(group.prompt.fields), to_json_text(batch.groups.front().prompt.fields));
  EXPECT_EQ(group.beta, 0.125);
  EXPECT_EQ(group.num_kept, 2);
  EXPECT_TRUE(group.has_no_difference);
  ASSERT_EQ(group.samples.size(), 2u);
  const Sample &sample = group.samples.front(), expected = rich_sample();
  EXPECT_EQ(sample.completion.token_ids, expected.completion.token_ids);
  EXPECT_EQ(sample.completion.spans, expected.completion.spans);
  EXPECT_EQ(std::bit_cast<uint32_t>(sample.completion.sampler_logprobs[1]), 0x7fc12345U);
  ASSERT_EQ(sample.completion.kept_ids.size(), 2u);
  EXPECT_EQ(*sample.completion.kept_ids[0], (std::vector<int32_t>{5, 7, 9}));
  EXPECT_EQ(sample.completion.kept_ids[1], nullptr);
  EXPECT_EQ(sample.completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(sample.completion.sample, 11);
  EXPECT_EQ(sample.completion.text, expected.completion.text);
  ASSERT_TRUE(sample.completion.episode);
  const EpisodeRecord &episode = *sample.completion.episode, &written = *expected.completion.episode;
  EXPECT_EQ(episode.number, 3);
  EXPECT_EQ(episode.opening, written.opening);
  EXPECT_EQ(episode.messages, written.messages);
  EXPECT_EQ(episode.num_turns, 2);
  EXPECT_EQ(episode.num_calls, 4);
  EXPECT_EQ(episode.num_failed_calls, 1);
  ASSERT_EQ(episode.turn_rewards.size(), 1u);
  EXPECT_EQ(episode.turn_rewards[0].score, 0.5);
  EXPECT_EQ(episode.turn_states, written.turn_states);
  EXPECT_EQ(episode.reward->score, 0.25);
  EXPECT_EQ(episode.failure, "it broke");
  EXPECT_FALSE(group.samples.back().completion.episode);
  ASSERT_EQ(sample.rewards.size(), 2u);
  EXPECT_TRUE(std::signbit(sample.rewards[0].score));
  EXPECT_EQ(sample.rewards[0].detail, "fine");
  ASSERT_EQ(sample.rewards[0].steps.size(), 2u);
  EXPECT_EQ(sample.rewards[0].steps[1].end, 3);
  EXPECT_EQ(sample.rewards[0].steps[1].score, -1.0);
  EXPECT_EQ(sample.rewards[1].status, RewardStatus::kTimeout);
  EXPECT_FALSE(sample.has_reward());
  EXPECT_EQ(sample.advantage, 1e-310);
  EXPECT_EQ(sample.token_advantages, expected.token_advantages);
  EXPECT_EQ(sample.mask, LossMask::kMonitor);
  EXPECT_TRUE(sample.is_demonstration);
  EXPECT_EQ(sample.old_logprobs, expected.old_logprobs);
  EXPECT_EQ(sample.ref_logprobs, expected.ref_logprobs);
  EXPECT_EQ(sample.entropies, expected.entropies);
  EXPECT_EQ(sample.values, expected.values);
  EXPECT_EQ(sample.returns, expected.returns);
  ASSERT_EQ(read.batch.untrained.size(), 1u);
  EXPECT_EQ(read.batch.untrained.front().reason, Untrained::kSurplus);
  EXPECT_EQ(read.batch.untrained.front().of, 1);
}

TEST_F(BatchFile, SharedKeptSetsAreWrittenOnce) {
  Batch one = rich_batch(), many = rich_batch();
  const auto large = std::make_shared<const std::vector<int32_t>>(10'000, 1);
  one.groups.front().samples.front().completion.kept_ids = {large, nullptr};
  many.groups.front().samples.front().completion.kept_ids = {large, large};
  EXPECT_LT(to_bytes(many).size(), to_bytes(one).size() + 100);
}

TEST_F(BatchFile, IsReadWhileItIsBeingMade) {
  const Batch batch = rich_batch();
  BatchWriter writer(path_, batch);
  EXPECT_EQ(read_batch(path_).batch.groups.size(), 0u);
  writer.add(batch.groups.front());
  const ReadBatch half = read_batch(path_);
  EXPECT_FALSE(half.is_finished);
  EXPECT_EQ(half.batch.step, 17);
  ASSERT_EQ(half.batch.groups.size(), 1u);
  EXPECT_EQ(half.batch.groups.front().prompt.id, "file:3");
  writer.add(batch.groups.back());
  writer.add(batch.untrained.front());
  writer.finish();
  EXPECT_TRUE(read_batch(path_).is_finished);
  EXPECT_EQ(bytes_of(path_), to_bytes(batch));
}

TEST_F(BatchFile, ACutFileIsNotFinishedAndNeverWrong) {
  const std::string whole = to_bytes(rich_batch());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto result = read(whole.substr(0, size));
    if (result) {
      EXPECT_FALSE(result->is_finished) << size;
    }
  }
}

TEST_F(BatchFile, ADamagedFileIsRefusedOrRead) {
  const std::string whole = to_bytes(rich_batch());
  for (size_t place = 0; place < whole.size(); ++place) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ flip);
      read(damaged);  // must neither crash nor throw anything but FormatError
    }
  }
}

TEST_F(BatchFile, NamesWhatItIsNot) {
  EXPECT_FALSE(read("PK\x03\x04 something else"));
  EXPECT_NE(error_.find("is not a batch"), std::string::npos) << error_;
  std::string newer = to_bytes(rich_batch());
  newer[8] = 9;
  EXPECT_FALSE(read(newer));
  EXPECT_NE(error_.find("version 9, and this program reads version 6"), std::string::npos) << error_;
  EXPECT_FALSE(read(to_bytes(rich_batch()) + "x"));
  EXPECT_NE(error_.find("bytes after its end"), std::string::npos) << error_;
}

}  // namespace
}  // namespace cohort
