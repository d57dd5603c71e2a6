// Updates from what the sampler recorded against the same updates from a forward of their own: every bit.
#include "cohort/models/activation_record.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/scheduler.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/run/self_test.h"
#include "libs/common/random.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

constexpr int64_t kCompletionLength = 20;

std::vector<Prompt> prompts_of_lengths(const std::vector<int64_t>& lengths) {
  CounterRng random(11);
  std::vector<Prompt> prompts;
  for (const int64_t length : lengths) {
    prompts.emplace_back().id = str("prompt ", prompts.size());
    for (int64_t i = 0; i < length; ++i)
      prompts.back().token_ids.push_back(static_cast<int32_t>(random.below(300)));
  }
  return prompts;
}

const std::vector<Prompt> kPrompts = prompts_of_lengths({1, 16, 33, 70});
const std::vector<int64_t> kGroupSizes{4, 3, 4, 2};

/// A rollout with its record.
struct Recorded {
  Recorded(const Decoder& decoder, int64_t cache_tokens, std::vector<int32_t> stop_token_ids,
           RecordedParts parts = RecordedParts::kAll)
      : record(parts) {
    record.begin(decoder, rows_of_rollout(kPrompts, kGroupSizes, kCompletionLength, decoder.config()));
    Sampler sampler(decoder, nullptr, cache_tokens);
    SamplingParams params;
    params.max_completion_length = kCompletionLength;
    params.stop_token_ids = std::move(stop_token_ids);
    groups = sampler.rollout(kPrompts, kGroupSizes, params, {.seed = 5}, 0, {}, &record);
    num_preemptions = sampler.stats().num_preemptions;
  }

  /// All rows of it; of prompts the last one's results alone are there.
  RecordRows rows() const {
    RecordRows rows;
    for (const Group& group : groups) {
      for (const Sample& sample : group.samples) {
        const auto found = record.find(group.prompt.token_ids, sample.completion.token_ids);
        COHORT_CHECK(found.has_value());
        const auto [prompt, own] = *found;
        const int64_t prompt_end = prompt + std::ssize(group.prompt.token_ids);
        const bool is_first = &sample == &group.samples.front();
        if (is_first) add_range({prompt, prompt_end}, rows.all);
        if (is_first) add_range({prompt_end - 1, prompt_end}, rows.results);
        for (auto* ranges : {&rows.all, &rows.results})
          add_range({own, own + std::ssize(sample.completion.token_ids) - 1}, *ranges);
      }
    }
    return rows;
  }

  ActivationRecord record;
  std::vector<Group> groups;
  int64_t num_preemptions = 0;
};

struct Trained {
  LossResult loss;
  std::vector<at::Tensor> gradients;
};

/// An update's gradients; the first sample of each group has the advantage 0 and is left out.
Trained update_from(const Decoder& decoder, std::vector<Group> groups, ActivationRecord* record,
                    int64_t tokens_per_microbatch, bool recompute = false) {
  int64_t place = 0;
  for (Group& group : groups) {
    for (Sample& sample : group.samples) sample.advantage = static_cast<double>(place++ % 3) - 0.7;
    group.samples.front().advantage = 0.0;
  }
  for (at::Tensor parameter : decoder.parameters()) parameter.mutable_grad() = at::Tensor();
  LossConfig objective;
  objective.loss_type = "grpo";
  objective.beta = 0.0;
  Trained result{
      accumulate_policy_gradient(
          decoder, groups, objective,
          {.tokens_per_microbatch = tokens_per_microbatch, .recompute = recompute, .record = record}),
      {}};
  for (const at::Tensor& parameter : decoder.parameters()) {
    const at::Tensor gradient = parameter.grad();
    result.gradients.push_back(gradient.defined() ? gradient.clone() : at::Tensor());
  }
  return result;
}

void expect_same(const Trained& actual, const Trained& expected) {
  EXPECT_EQ(actual.loss.objective.values(), expected.loss.objective.values());
  EXPECT_EQ(actual.loss.entropy_sum, expected.loss.entropy_sum);
  EXPECT_EQ(actual.loss.logprob_difference_max, 0.0);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  double largest = 0.0;
  for (size_t i = 0; i < actual.gradients.size(); ++i) {
    ASSERT_EQ(actual.gradients[i].defined(), expected.gradients[i].defined());
    if (!actual.gradients[i].defined()) continue;
    EXPECT_TRUE(at::equal(actual.gradients[i], expected.gradients[i])) << "leaf " << i;
    largest = std::max(largest, actual.gradients[i].abs().max().item<double>());
  }
  EXPECT_GT(largest, 0.0);
}

using Part = at::Tensor& (*)(LayerActivations&);
constexpr Part kQkv = [](LayerActivations& layer) -> at::Tensor& { return layer.qkv; };
constexpr Part kAttended = [](LayerActivations& layer) -> at::Tensor& { return layer.attended.rows; };
constexpr Part kLogSumExp = [](LayerActivations& layer) -> at::Tensor& { return layer.attended.log_sum_exp; };
constexpr Part kOutput = [](LayerActivations& layer) -> at::Tensor& { return layer.output; };
constexpr Part kGateUp = [](LayerActivations& layer) -> at::Tensor& { return layer.gate_up; };
constexpr Part kDown = [](LayerActivations& layer) -> at::Tensor& { return layer.down; };

/// Fills a part of a whole record with other numbers, so that whoever reads it is seen.
void spoil(ActivationRecord& record, const Decoder& decoder, Part part) {
  const int64_t num_rows = rows_of_rollout(kPrompts, kGroupSizes, kCompletionLength, decoder.config());
  const RecordRows rows{{{0, num_rows}}, {{0, num_rows}}};
  for (int64_t layer = 0; layer < decoder.config().num_hidden_layers; ++layer) {
    LayerActivations other = record.read(layer, rows);
    part(other) = part(other) + 1.0;
    record.write(layer, rows, other);
  }
}

using Setting = std::tuple<const char*, at::ScalarType>;
class RecordTest : public testing::TestWithParam<Setting> {
 protected:
  const std::unique_ptr<Decoder> decoder_ =
      tiny_decoder(tiny_config(std::get<0>(GetParam())), std::get<1>(GetParam()));
  const ThreadCount one_thread_{1};
};

TEST_P(RecordTest, AnUpdateFromItHasTheBitsOfAForward) {
  ASSERT_TRUE(ActivationRecord::fits(*decoder_));
  // Of full length; ragged; ragged, and preempted on the way.
  for (const auto& [stops, cache_tokens] : std::vector<std::pair<std::vector<int32_t>, int64_t>>{
           {{}, 0}, {{1, 5, 9, 17, 42, 80, 120, 200, 250, 290}, 0}, {{42, 120, 250}, 8 * kPageRows}}) {
    Recorded drawn(*decoder_, cache_tokens, stops),
        part(*decoder_, cache_tokens, stops, RecordedParts::kDown);
    EXPECT_EQ(drawn.num_preemptions > 0, cache_tokens > 0);
    EXPECT_TRUE(drawn.record.holds_for(*decoder_));
    for (const int64_t rows : {1 << 20, 100}) {
      const Trained expected = update_from(*decoder_, drawn.groups, nullptr, rows);
      expect_same(update_from(*decoder_, drawn.groups, &drawn.record, rows), expected);
      expect_same(update_from(*decoder_, part.groups, &part.record, rows), expected);
      for (const int threads : {2, 5}) {
        const ThreadCount count(threads);
        expect_same(update_from(*decoder_, drawn.groups, &drawn.record, rows), expected);
        expect_same(update_from(*decoder_, part.groups, &part.record, rows), expected);
      }
    }
  }
}

TEST_P(RecordTest, LanesWriteItSideBySide) {
  Recorded alone(*decoder_, 0, {});
  const ThreadCount threads(5);
  Recorded together(*decoder_, 0, {});
  const RecordRows rows = alone.rows(), same = together.rows();
  ASSERT_EQ(rows.all.size(), 1);
  EXPECT_EQ(rows.all[0].size(), 1 + 16 + 33 + 70 + 13 * (kCompletionLength - 1));
  EXPECT_EQ(rows.results.size(), kPrompts.size());
  for (int64_t layer = 0; layer < decoder_->config().num_hidden_layers; ++layer) {
    const LayerActivations one = alone.record.read(layer, rows), five = together.record.read(layer, same);
    EXPECT_TRUE(at::equal(one.down, five.down));
    EXPECT_TRUE(at::equal(one.attended.log_sum_exp, five.attended.log_sum_exp));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordTest,
    testing::Combine(testing::Values("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                                     "Qwen3ForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM"),
                     testing::Values(at::kFloat, at::kBFloat16)),
    [](const auto& info) { return str(std::get<0>(info.param), "_", toString(std::get<1>(info.param))); });

TEST(ActivationRecord, TakesTheAdaptersPartOfAProduct) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_adapted_decoder(tiny_config("Qwen3ForCausalLM"), at::kBFloat16, {.r = 4});
  Recorded drawn(*decoder, 0, {});
  Recorded part(*decoder, 0, {}, RecordedParts::kDown);
  const Trained expected = update_from(*decoder, drawn.groups, nullptr, 100);
  expect_same(update_from(*decoder, drawn.groups, &drawn.record, 100), expected);
  expect_same(update_from(*decoder, part.groups, &part.record, 100), expected);
  expect_same(update_from(*decoder, drawn.groups, nullptr, 100, /*recompute=*/true), expected);
  EXPECT_FALSE(drawn.record.holds_for(*decoder, {.enabled = false}))
      << "it is another model without its adapters";
  const auto dropout = std::make_shared<const AdapterDropout>(AdapterDropout{.probability = 0.1});
  EXPECT_FALSE(drawn.record.holds_for(*decoder, {.dropout = dropout}));
}

TEST(ActivationRecord, HoldsAPromptOfSeveralPasses) {
  const ThreadCount one_thread(1);
  Json config = tiny_config("LlamaForCausalLM");
  config.update({{"max_position_embeddings", 8192}, {"intermediate_size", 9000}});
  const std::vector<Prompt> prompts = prompts_of_lengths({2 * SchedulerLimits().max_rows + 100, 30});
  const std::vector<int64_t> sizes{2, 2};
  SamplingParams params;
  params.max_completion_length = kCompletionLength;
  for (const at::ScalarType compute : {at::kFloat, at::kBFloat16}) {
    const auto decoder = tiny_decoder(config, compute);
    ActivationRecord record;
    record.begin(*decoder, rows_of_rollout(prompts, sizes, kCompletionLength, decoder->config()));
    const auto groups =
        Sampler(*decoder, nullptr, 0).rollout(prompts, sizes, params, {.seed = 5}, 0, {}, &record);
    expect_same(update_from(*decoder, groups, &record, 1 << 20),
                update_from(*decoder, groups, nullptr, 1 << 20));
  }
}

TEST(ActivationRecord, HoldsForTheWeightsThatSampled) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat),
             twin = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  Recorded drawn(*decoder, 0, {});
  EXPECT_TRUE(drawn.record.holds_for(*decoder));
  EXPECT_FALSE(drawn.record.holds_for(*twin));
  const Trained before = update_from(*decoder, drawn.groups, &drawn.record, 100);
  randomize(*decoder, 2);
  EXPECT_FALSE(drawn.record.holds_for(*decoder));
  const Trained after = update_from(*decoder, drawn.groups, &drawn.record, 100);
  EXPECT_GT(after.loss.logprob_difference_max, 0.0) << "the new weights were not forwarded";
  EXPECT_NE(after.loss.entropy_sum, before.loss.entropy_sum);
}

TEST(ActivationRecord, ReadsNothingOfCompletionsThatAreNotInIt) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  Recorded drawn(*decoder, 0, {});
  SamplingParams params;
  params.max_completion_length = kCompletionLength;
  const auto others = Sampler(*decoder, nullptr, 0).rollout(kPrompts, kGroupSizes, params, {.seed = 6});
  drawn.groups[2].samples[1].completion = others[2].samples[1].completion;
  const Trained expected = update_from(*decoder, drawn.groups, nullptr, 1 << 20);
  spoil(drawn.record, *decoder, kDown);
  expect_same(update_from(*decoder, drawn.groups, &drawn.record, 1 << 20), expected);
}

TEST(ActivationRecord, HoldsSeveralRollouts) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  const std::vector<Prompt> others = prompts_of_lengths({20, 7});
  const std::vector<int64_t> again{1, 2, 3, 2}, sizes{2, 3};
  const auto rows_of = [&](const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes) {
    return rows_of_rollout(prompts, group_sizes, kCompletionLength, decoder->config());
  };
  const int64_t last = rows_of(others, sizes);
  ActivationRecord record;
  int64_t known = 0;  // the prompts' rows, which the second round finds
  for (const Prompt& prompt : kPrompts) known += std::ssize(prompt.token_ids);
  record.begin(*decoder, rows_of(kPrompts, kGroupSizes) + rows_of(kPrompts, again) - known + last);
  Sampler sampler(*decoder, nullptr, 0);
  SamplingParams params;
  params.max_completion_length = kCompletionLength;
  const auto draw = [&](const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                        RolloutAddress address) {
    return sampler.rollout(prompts, group_sizes, params, std::move(address), 0, {}, &record);
  };
  std::vector<Group> groups = draw(kPrompts, kGroupSizes, {.seed = 5});
  // A second round of the same prompts, and other prompts; a selection leaves some out.
  std::vector<Group> second = draw(kPrompts, again, {.seed = 5, .first_sample = 4});
  EXPECT_TRUE(record.has_room(last));
  EXPECT_FALSE(record.has_room(last + 1));
  for (size_t p = 0; p < groups.size(); ++p) {
    std::vector<Sample>& samples = groups[p].samples;
    samples.insert(samples.end(), second[p].samples.begin(), second[p].samples.end());
    if (p == 1) samples.erase(samples.begin(), samples.begin() + 3);
    if (p == 2) samples.erase(samples.begin() + 1);
  }
  groups.erase(groups.begin());
  std::vector<Group> more = draw(others, sizes, {.seed = 6});
  EXPECT_FALSE(record.has_room(1));
  groups.insert(groups.begin() + 1, more.begin(), more.end());
  for (const int64_t rows : {1 << 20, 60})
    expect_same(update_from(*decoder, groups, &record, rows), update_from(*decoder, groups, nullptr, rows));
}

TEST(ActivationRecord, IsWhatAnUpdateReadsAndIsFoundOutWhereItDiffers) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  const auto all = RecordedParts::kAll, down = RecordedParts::kDown;
  for (const auto& [part, parts] : std::vector<std::pair<Part, RecordedParts>>{{kQkv, all},
                                                                               {kAttended, all},
                                                                               {kLogSumExp, all},
                                                                               {kOutput, all},
                                                                               {kGateUp, all},
                                                                               {kDown, all},
                                                                               {kDown, down}}) {
    Recorded drawn(*decoder, 0, {}, parts);
    const auto agrees = [&] {
      return agrees_with_record(*decoder, drawn.record, drawn.groups[3].prompt,
                                drawn.groups[3].samples[1].completion);
    };
    EXPECT_TRUE(agrees());
    const Trained expected = update_from(*decoder, drawn.groups, &drawn.record, 1 << 20);
    spoil(drawn.record, *decoder, part);
    const Trained other = update_from(*decoder, drawn.groups, &drawn.record, 1 << 20);
    bool is_same = true;
    for (size_t i = 0; i < other.gradients.size(); ++i)
      is_same &= at::equal(other.gradients[i], expected.gradients[i]);
    EXPECT_FALSE(is_same);
    EXPECT_EQ(agrees(), part == kLogSumExp);
  }
}

TEST(ActivationRecord, FitsNoPassThatIsNotTheSamplers) {
  EXPECT_FALSE(ActivationRecord::fits(*tiny_decoder(tiny_config("MixtralForCausalLM"), at::kFloat)));
  EXPECT_FALSE(ActivationRecord::fits(*tiny_decoder(tiny_config("LlamaForCausalLM"), at::kDouble)));
}

}  // namespace
}  // namespace cohort
