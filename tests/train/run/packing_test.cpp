// Packed rows: their layout, how they are cut, and that the trainer's log-probabilities are the sampler's bit
// for bit.
#include "cohort/train/run/packing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "cohort/sampler/sampler.h"
#include "cohort/train/run/batch_passes.h"
#include "libs/common/random.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

Completion completion_of(std::vector<int32_t> token_ids) {
  Completion completion;
  completion.token_ids = std::move(token_ids);
  return completion;
}

std::vector<int64_t> values(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel()};
}

TEST(Packing, LaysOutThePromptOnce) {
  const std::vector<int32_t> first{10, 11, 12}, second{20};
  const Completion a = completion_of({1, 2, 3}), b = completion_of({4}), empty, c = completion_of({5, 6});
  const auto batch = pack({{&first, {{&a, 7}, {&b, 8}, {&empty, 9}}}, {&second, {{&c, 3}}}}, at::kCPU, true);
  const std::vector<int64_t> token_ids{10, 11, 12, 1, 2, 20, 5}, positions{0, 1, 2, 3, 4, 0, 1};
  EXPECT_EQ(values(batch->input.token_ids), token_ids);
  EXPECT_EQ(values(batch->input.positions), positions);
  EXPECT_EQ(batch->input.results->rows, (std::vector<RowRange>{{2, 7}}));
  EXPECT_EQ(values(batch->logit_rows), (std::vector<int64_t>{0, 1, 2, 0, 3, 4}));
  EXPECT_EQ(batch->targets.token_ids, (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(batch->targets.kept_ids.empty());
  std::vector<std::pair<const Completion*, int64_t>> packed;
  for (const PackedCompletion& each : batch->completions) packed.emplace_back(each.completion, each.place);
  EXPECT_EQ(packed, (std::vector<std::pair<const Completion*, int64_t>>{{&a, 7}, {&b, 8}, {&c, 3}}));
  EXPECT_EQ(batch->rows.repeated_prompt, 3);
  EXPECT_EQ(batch->rows.prompt, 1);
  EXPECT_EQ(batch->rows.completion, 3);
  EXPECT_EQ(pack({{&first, {&a}}}, at::kCPU)->rows.prompt, 3);
}

/// A branch of completion 1 2 3 4: its first two tokens are injected, 7 and 8 are sampled.
Completion fork() {
  Completion completion = completion_of({1, 2, 7, 8});
  completion.spans = {{.origin = TokenOrigin::kInjected, .first = 0, .count = 2}, {.first = 2, .count = 2}};
  return completion;
}

TEST(Packing, BranchesShareTheRowsThatTheyBeginWith) {
  const std::vector<int32_t> prompt{10, 11}, own_prompt{10, 20};
  const Completion main = completion_of({1, 2, 3, 4}), branch = fork(), foreign = completion_of({5, 6});
  PackGroup group{&prompt, {{&main, 0}, {&branch, 1}, {&foreign, 2}}};
  group.completions[1].is_branch = group.completions[2].is_branch = true;
  group.completions[2].prompt_ids = &own_prompt;
  // Rows 0 and 1 are the prompt's, 2 to 4 the completion's, 5 the fork's and 6 and 7 the foreign one's, which
  // has the prompt's first token.
  const auto batch = pack({group}, at::kCPU);
  EXPECT_EQ(values(batch->input.token_ids), (std::vector<int64_t>{10, 11, 1, 2, 3, 7, 20, 5}));
  EXPECT_EQ(values(batch->input.positions), (std::vector<int64_t>{0, 1, 2, 3, 4, 4, 1, 2}));
  // The first row has no result, so results begin at row 1.
  EXPECT_EQ(values(batch->logit_rows), (std::vector<int64_t>{0, 1, 2, 3, 2, 4, 5, 6}));
  EXPECT_EQ(batch->targets.token_ids, (std::vector<int32_t>{1, 2, 3, 4, 7, 8, 5, 6}));
  EXPECT_EQ(num_rows(group), 8);
  EXPECT_EQ(cut_into_microbatches({group}, 8).size(), 1u);
  const auto pieces = cut_into_microbatches({group}, 5);  // the fork takes its first tokens again
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(num_rows(pieces[1].front()), 5);
}

// The first two begin at the prompt, the third leaves the first and the fourth the second after two tokens.
// Without the second, the fourth has all of its rows for itself.
TEST(Packing, CompletionsOfATreeShareRows) {
  Group group{.prompt = {.id = "p", .token_ids = {10, 11}, .text = {}}};
  for (const std::vector<int32_t>& ids :
       std::vector<std::vector<int32_t>>{{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 2, 9, 9}, {5, 6, 9}})
    group.samples.emplace_back().completion = completion_of(ids);
  const auto rows = [&] {
    const auto groups = forwarded_groups(std::span<const Group>(&group, 1), has_loss);
    EXPECT_EQ(num_rows(groups.front()), pack(groups, at::kCPU)->input.token_ids.size(0));
    return num_rows(groups.front());
  };
  EXPECT_EQ(rows(), 2 + 3 + 3 + 3 + 2);
  group.samples[2].fork = {.of = 0, .num_segments = 1, .num_tokens = 2};
  group.samples[3].fork = {.of = 1, .num_segments = 1, .num_tokens = 2};
  EXPECT_EQ(rows(), 2 + 3 + 3 + 1 + 0);
  group.samples[1].mask = LossMask::kTruncated;
  EXPECT_EQ(rows(), 2 + 3 + 1 + 2);
}

TEST(Packing, SharedRowsChangeNoBit) {
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  const std::vector<int32_t> prompt{10, 11}, own_prompt{10, 20};
  const Completion main = completion_of({1, 2, 3, 4}), branch = fork(), foreign = completion_of({5, 6});
  PackGroup group{&prompt, {{&main, 0}, {&branch, 1}, {&foreign, 2}}};
  const auto logprobs = [&](const std::vector<PackGroup>& groups) {
    return packed_logprobs(*decoder, *pack(groups, decoder->options()), 1.0).logprobs.detach();
  };
  const at::Tensor apart = at::cat({logprobs({{&prompt, {&main}}}), logprobs({{&prompt, {&branch}}}),
                                    logprobs({{&own_prompt, {&foreign}}})});
  group.completions[1].is_branch = group.completions[2].is_branch = true;
  group.completions[2].prompt_ids = &own_prompt;
  EXPECT_TRUE(at::equal(logprobs({group}), apart));
}

TEST(Packing, CarriesKeptIdsOfSomeCompletions) {
  const std::vector<int32_t> prompt{1};
  Completion filtered = completion_of({7, 8});
  filtered.kept_ids = {std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{3, 7}), nullptr};
  const Completion plain = completion_of({9});
  const auto batch = pack({{&prompt, {&plain, &filtered}}}, at::kCPU);
  EXPECT_EQ(batch->targets.kept_ids,
            (std::vector<const std::vector<int32_t>*>{nullptr, filtered.kept_ids[0].get(), nullptr}));
}

TEST(Packing, CutsBetweenCompletionsOnlyWhereItMust) {
  const std::vector<int32_t> prompt(4, 1);
  const Completion five = completion_of(std::vector<int32_t>(6, 2));  // five rows
  const auto sizes = [&](const std::vector<int>& completions, const MicrobatchRows& rows) {
    std::vector<PackGroup> groups;
    for (const int count : completions)
      groups.push_back({&prompt, std::vector<PackedCompletion>(count, &five)});
    std::vector<std::vector<size_t>> result;
    for (const auto& microbatch : cut_into_microbatches(groups, rows)) {
      result.emplace_back();
      for (const PackGroup& group : microbatch) result.back().push_back(group.completions.size());
    }
    return result;
  };
  using Sizes = std::vector<std::vector<size_t>>;
  EXPECT_EQ(sizes({2, 2}, 28), (Sizes{{2, 2}}));
  EXPECT_EQ(sizes({2, 2}, 27), (Sizes{{2}, {2}}));
  EXPECT_EQ(sizes({1, 4, 1, 1}, 18), (Sizes{{1}, {2}, {2}, {1, 1}}));
  EXPECT_EQ(sizes({3}, 14), (Sizes{{2}, {1}}));
  EXPECT_EQ(sizes({3}, 13), (Sizes{{1}, {1}, {1}}));
  EXPECT_EQ(sizes({2}, 1), (Sizes{{1}, {1}}));
  EXPECT_TRUE(cut_into_microbatches({}, 10).empty());
  // Groups of 14 rows.
  EXPECT_EQ(sizes({2, 2, 2}, {50, 28}), (Sizes{{2, 2}, {2}}));
  EXPECT_EQ(sizes({2, 2, 2}, {50, 27}), (Sizes{{2}, {2}, {2}}));
  EXPECT_EQ(sizes({2, 2}, {50, 10}), (Sizes{{2}, {2}})) << "what shares with nobody stays whole";
  EXPECT_EQ(sizes({2, 2, 2}, {28, 50}), (Sizes{{2, 2}, {2}}));
}

TEST(Packing, KnowsTheLargestPieceOfEqualGroups) {
  const EqualGroups groups{.count = 3, .prompt_rows = 4, .completion_rows = 5, .num_generations = 2};
  const auto filled = [&](int64_t most, int64_t shared) {
    return MicrobatchRows{most, shared}.filled(groups);
  };
  EXPECT_EQ(filled(100, 100), 42);
  EXPECT_EQ(filled(41, 100), 28);
  EXPECT_EQ(filled(100, 28), 28);
  EXPECT_EQ(filled(100, 27), 14);
  EXPECT_EQ(filled(100, 1), 14);
  EXPECT_EQ(filled(13, 100), 9);
  EXPECT_EQ(filled(1, 1), 9);
}

TEST(Packing, ChecksTokenIds) {
  const DecoderConfig config = parse_decoder_config(tiny_config("LlamaForCausalLM"), "config.json");
  EXPECT_NO_THROW(check_token_ids(config, {0, 299}, {}, "x"));
  EXPECT_NO_THROW(check_token_ids(config, std::vector<int32_t>(200), std::vector<int32_t>(56), "x"));
  const auto message = [&](const std::vector<int32_t>& prompt, const std::vector<int32_t>& completion) {
    return message_of<UserError>([&] { check_token_ids(config, prompt, completion, "in.jsonl:3"); });
  };
  EXPECT_EQ(message({}, {1}), "in.jsonl:3: the prompt has no tokens");
  EXPECT_EQ(message({1}, {300}), "in.jsonl:3: id 300 lies outside the vocabulary of 300");
  EXPECT_EQ(message({-1}, {1}), "in.jsonl:3: id -1 lies outside the vocabulary of 300");
  EXPECT_EQ(message(std::vector<int32_t>(200), std::vector<int32_t>(57)),
            "in.jsonl:3: 257 tokens are more than the model's context of 256");
}

std::vector<Prompt> mixed_prompts() {
  CounterRng random(17);
  std::vector<Prompt> prompts;
  for (const int64_t length : {1, 15, 130, 16, 17, 64}) {
    Prompt prompt;
    prompt.id = std::to_string(length);
    for (int64_t i = 0; i < length; ++i) prompt.token_ids.push_back(static_cast<int32_t>(random.below(300)));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

/// The trainer's log-probabilities of all tokens, group after group.
std::vector<float> trainer_logprobs(const Decoder& decoder, const std::vector<Group>& groups,
                                    int64_t max_rows, double temperature) {
  std::vector<float> logprobs;
  for (const auto& microbatch : cut_into_microbatches(forwarded_groups(groups, has_tokens), max_rows)) {
    const auto batch = pack(microbatch, decoder.options());
    const at::Tensor part = packed_logprobs(decoder, *batch, temperature).logprobs.detach().contiguous();
    logprobs.insert(logprobs.end(), part.const_data_ptr<float>(),
                    part.const_data_ptr<float>() + part.numel());
  }
  return logprobs;
}

std::vector<float> sampler_logprobs(const std::vector<Group>& groups) {
  std::vector<float> logprobs;
  for_each_sample(groups, [&](const Sample& sample) {
    const std::vector<float>& own = sample.completion.sampler_logprobs;
    EXPECT_EQ(std::ssize(own), sample.completion.num_sampled());
    logprobs.insert(logprobs.end(), own.begin(), own.end());
  });
  return logprobs;
}

std::vector<std::vector<int32_t>> kept_of(const Completion& completion) {
  std::vector<std::vector<int32_t>> kept;
  for (const KeptIds& ids : completion.kept_ids)
    kept.push_back(ids != nullptr ? *ids : std::vector<int32_t>());
  return kept;
}

void expect_same_rollout(const std::vector<Group>& a, const std::vector<Group>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t p = 0; p < a.size(); ++p) {
    ASSERT_EQ(a[p].samples.size(), b[p].samples.size());
    for (size_t g = 0; g < a[p].samples.size(); ++g) {
      const Completion &one = a[p].samples[g].completion, &other = b[p].samples[g].completion;
      EXPECT_EQ(one.token_ids, other.token_ids) << "prompt " << p << ", sample " << g;
      EXPECT_EQ(one.sampler_logprobs, other.sampler_logprobs) << p << " " << g;
      EXPECT_EQ(kept_of(one), kept_of(other)) << p << " " << g;
      EXPECT_EQ(one.finish_reason, other.finish_reason) << p << " " << g;
    }
  }
}

struct Setup {
  const char* architecture;
  at::ScalarType dtype;
  const char* sampling;
  const char* adapter = "";  // "lora" or "dora": on a frozen model
};

std::unique_ptr<Decoder> decoder_of(const Setup& setup) {
  const Json config = tiny_config(setup.architecture);
  const std::string adapter = setup.adapter;
  if (adapter.empty()) return tiny_decoder(config, setup.dtype);
  return tiny_adapted_decoder(config, setup.dtype, {.r = 3, .use_dora = adapter == "dora"});
}

SamplingParams sampling_of(const std::string& name) {
  SamplingParams params;
  params.max_completion_length = 28;
  params.stop_token_ids = {3, 50, 99, 121, 200, 288};  // so that completions end at different lengths
  if (name == "hot") params.temperature = 1.7;
  if (name == "greedy") params.temperature = 0.0;
  if (name == "least") params.min_tokens = 9;
  if (name == "filtered") {
    params.temperature = 1.3;
    params.top_k = 40;
    params.top_p = 0.9;
    params.min_p = 0.02;
  }
  return params;
}

class ExactnessTest : public testing::TestWithParam<Setup> {
 protected:
  std::vector<Group> rollout(const std::vector<Prompt>& prompts, int64_t num_generations,
                             int64_t cache_tokens, uint64_t first_prompt = 0) {
    Sampler sampler(*decoder_, nullptr, cache_tokens);
    auto groups = sampler.rollout(prompts, num_generations, params_,
                                  {.seed = 7, .step = 2, .first_prompt = first_prompt});
    stats_ = sampler.stats();
    return groups;
  }

  const std::vector<Prompt> prompts_ = mixed_prompts();
  const std::unique_ptr<Decoder> decoder_ = decoder_of(GetParam());
  SamplingParams params_ = sampling_of(GetParam().sampling);
  SamplerStats stats_;
  const ThreadCount one_thread_{1};
};

// The least budget that is accepted: nine pages of the longest prompt and two of one completion.
constexpr int64_t kLeastCacheTokens = (9 + 2) * kPageRows;

TEST_P(ExactnessTest, TheSamplerIsTheTrainer) {
  const std::vector<Group> groups = rollout(prompts_, 4, 0);
  EXPECT_EQ(stats_.num_preemptions, 0);
  EXPECT_EQ(stats_.prompt_rows, 1 + 15 + 16 + 17 + 64 + 130);
  const std::vector<float> expected = sampler_logprobs(groups);
  EXPECT_GT(expected.size(), 200u);
  const double temperature = params_.logprob_temperature();
  for (const int64_t max_rows : {1 << 20, 150, 60, 1}) {
    const at::NoGradGuard no_grad;
    EXPECT_EQ(trainer_logprobs(*decoder_, groups, max_rows, temperature), expected) << max_rows << " rows";
  }
  EXPECT_EQ(trainer_logprobs(*decoder_, groups, 300, temperature), expected) << "with gradient";
}

// Turns: what an environment would answer is injected, and the sampler goes on.
TEST_P(ExactnessTest, ASamplerThatGoesOnIsTheTrainer) {
  Engine engine(*decoder_, nullptr, 200);
  std::vector<Group> groups;
  std::map<RequestId, Sample*> samples;
  for (size_t p = 0; p < prompts_.size(); ++p) {
    groups.push_back({.prompt = prompts_[p], .samples = std::vector<Sample>(3)});
  }
  const auto on_end = [&](RequestId id, const Completion& completion) {
    samples.at(id)->completion = completion;
    const int64_t num_turns = completion.spans.back().turn + 1;
    if (num_turns < 1 + id % 3)
      engine.extend(id, std::vector<int32_t>(1 + id % 5, static_cast<int32_t>(20 + id)));
  };
  params_.max_completion_length = 60;
  for (size_t p = 0; p < prompts_.size(); ++p) {
    for (uint64_t g = 0; g < 3; ++g) {
      const RequestId id =
          engine.add({.token_ids = prompts_[p].token_ids,
                      .params = params_,
                      .address = {.seed = 7, .prompt = p, .sample = g},
                      .on_token = [n = int64_t{0}](const SampledToken&) mutable { return ++n % 13 != 0; },
                      .on_end = on_end,
                      .is_held = true});
      samples[id] = &groups[p].samples[g];
    }
  }
  while (engine.step()) {
  }
  int64_t num_injected = 0;
  for_each_sample(groups, [&](const Sample& sample) {
    check_completion(sample.completion);
    num_injected += std::ssize(sample.completion.token_ids) - sample.completion.num_sampled();
  });
  EXPECT_GT(num_injected, 20);
  const std::vector<float> expected = sampler_logprobs(groups);
  const at::NoGradGuard no_grad;
  for (const int64_t max_rows : {1 << 20, 90})
    EXPECT_EQ(trainer_logprobs(*decoder_, groups, max_rows, params_.logprob_temperature()), expected)
        << max_rows;
}

TEST_P(ExactnessTest, TokensDoNotDependOnTheSchedule) {
  const std::vector<Group> groups = rollout(prompts_, 4, 0);
  expect_same_rollout(rollout(prompts_, 4, kLeastCacheTokens), groups);
  EXPECT_GT(stats_.num_preemptions, 0);
  // Each prompt alone, with fewer completions: the lone completion of the last prompt is a single live row.
  for (size_t p = 0; p < prompts_.size(); ++p) {
    const int64_t num_generations = p + 1 == prompts_.size() ? 1 : 3;
    Group first = groups[p];
    first.samples.resize(num_generations);
    expect_same_rollout(rollout({prompts_[p]}, num_generations, 0, p), {first});
  }
  // Groups of different sizes.
  std::vector<Group> cut = groups;
  std::vector<int64_t> sizes;
  for (size_t p = 0; p < cut.size(); ++p) {
    sizes.push_back(static_cast<int64_t>(p % 4) + 1);
    cut[p].samples.resize(sizes.back());
  }
  expect_same_rollout(
      Sampler(*decoder_, nullptr, 0).rollout(prompts_, sizes, params_, {.seed = 7, .step = 2}), cut);
  // A second round of some prompts.
  Group third = groups[3], last = groups[5];
  third.samples.erase(third.samples.begin(), third.samples.begin() + 2);
  last.samples.erase(last.samples.begin(), last.samples.begin() + 2);
  const RolloutAddress address{.seed = 7, .step = 2, .first_sample = 2, .prompts = {5, 3}};
  expect_same_rollout(Sampler(*decoder_, nullptr, 0).rollout({prompts_[5], prompts_[3]}, 2, params_, address),
                      {last, third});
}

TEST_P(ExactnessTest, EvictingPromptsChangesNothing) {
  params_.ignore_eos = true;  // so that the schedule is the same on every machine
  const std::vector<Group> groups = rollout(prompts_, 4, 0);
  expect_same_rollout(rollout(prompts_, 4, kLeastCacheTokens), groups);
  EXPECT_GT(stats_.num_preemptions, 0);
  EXPECT_GT(stats_.prompt_rows, 1 + 15 + 16 + 17 + 64 + 130) << "no prompt was evicted";
}

TEST_P(ExactnessTest, ThreadsChangeNothing) {
  params_.max_completion_length = 10;
  const std::vector<Group> groups = rollout(prompts_, 3, 0);
  const std::vector<float> expected = sampler_logprobs(groups);
  Group alone = groups[4];
  alone.samples.resize(1);
  for (const int threads : {2, 3, 5, 8}) {
    SCOPED_TRACE(str(threads, " threads"));
    const ThreadCount count(threads);
    expect_same_rollout(rollout(prompts_, 3, 0), groups);
    expect_same_rollout(rollout({prompts_[4]}, 1, 0, 4), {alone});
    EXPECT_EQ(trainer_logprobs(*decoder_, groups, 200, params_.logprob_temperature()), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, ExactnessTest,
    testing::Values(
        Setup{"LlamaForCausalLM", at::kFloat, "plain"}, Setup{"LlamaForCausalLM", at::kBFloat16, "filtered"},
        Setup{"Qwen2ForCausalLM", at::kFloat, "filtered"}, Setup{"Qwen2ForCausalLM", at::kBFloat16, "hot"},
        Setup{"Qwen3ForCausalLM", at::kFloat, "hot"}, Setup{"Qwen3ForCausalLM", at::kBFloat16, "plain"},
        Setup{"Qwen3ForCausalLM", at::kFloat, "greedy"}, Setup{"Qwen3ForCausalLM", at::kBFloat16, "filtered"},
        Setup{"MistralForCausalLM", at::kFloat, "filtered"}, Setup{"Gemma2ForCausalLM", at::kFloat, "hot"},
        Setup{"Gemma2ForCausalLM", at::kBFloat16, "filtered"},
        Setup{"Gemma3ForCausalLM", at::kFloat, "filtered"},
        Setup{"Gemma3ForCausalLM", at::kBFloat16, "plain"}, Setup{"Qwen3MoeForCausalLM", at::kFloat, "plain"},
        Setup{"Qwen3MoeForCausalLM", at::kBFloat16, "filtered"},
        Setup{"MixtralForCausalLM", at::kBFloat16, "hot"}, Setup{"LlamaForCausalLM", at::kFloat, "least"},
        Setup{"Gemma2ForCausalLM", at::kBFloat16, "least"},
        Setup{"LlamaForCausalLM", at::kFloat, "hot", "dora"},
        Setup{"Qwen2ForCausalLM", at::kBFloat16, "filtered", "lora"}),
    [](const auto& info) {
      return str(info.param.architecture, info.param.dtype == at::kFloat ? "Float32" : "Bfloat16",
                 info.param.sampling, info.param.adapter);
    });

TEST(Exactness, AnotherAddressGivesOtherTokens) {
  const ThreadCount one_thread(1);
  const auto decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  const std::vector<Prompt> prompts{mixed_prompts()[1]};
  Sampler sampler(*decoder, nullptr, 0);
  const SamplingParams params = sampling_of("hot");
  const auto tokens = [&](RolloutAddress address) {
    return sampler.rollout(prompts, 2, params, address)[0].samples[0].completion.token_ids;
  };
  const std::vector<int32_t> first = tokens({.seed = 1});
  EXPECT_EQ(tokens({.seed = 1}), first);
  EXPECT_NE(tokens({.seed = 2}), first);
  EXPECT_NE(tokens({.seed = 1, .step = 1}), first);
  EXPECT_NE(tokens({.seed = 1, .first_prompt = 1}), first);
  const auto group = sampler.rollout(prompts, 2, params, {.seed = 1})[0];
  EXPECT_NE(group.samples[0].completion.token_ids, group.samples[1].completion.token_ids);
}

}  // namespace
}  // namespace cohort
