// Trees of completions: which completion forks where, and that each is what it would be by itself.
#include "cohort/sampler/tree_rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cohort/sampler/sampler.h"
#include "tests/sampler/engine_case.h"

namespace cohort {
namespace {

const RolloutAddress kAddress{.seed = 4, .step = 2, .first_prompt = 6};

class TreeTest : public EngineTest {
 protected:
  std::vector<Group> trees(const SamplingParams& params, TreeShape shape, const std::vector<int64_t>& sizes,
                           int64_t cache_tokens = 0) {
    std::vector<Prompt> prompts;
    for (size_t p = 0; p < sizes.size(); ++p)
      prompts.push_back({.id = str(p), .token_ids = prompt_ids(p, 18 + std::ssize(prompts)), .text = {}});
    Sampler sampler(*decoder_, nullptr, cache_tokens);
    ended_.clear();
    std::vector<Group> groups = sampler.rollout_trees(
        prompts, sizes, params, shape, kAddress, /*policy_version=*/3,
        [&](int64_t prompt, int64_t sample, const Completion&) { ended_.emplace_back(prompt, sample); });
    stats_ = sampler.stats();
    return groups;
  }

  /// The completion whose tokens before each fork are those of the sample that it left, and whose other
  /// tokens are drawn at its own address.
  Completion by_itself(const Group& group, size_t p, int64_t g, const SamplingParams& params) const {
    std::vector<int64_t> line{g};
    while (group.samples[line.back()].fork) line.push_back(group.samples[line.back()].fork->of);
    const auto address = [&](int64_t sample) {
      return DrawAddress{kAddress.seed, kAddress.step, kAddress.first_prompt + p,
                         static_cast<uint64_t>(sample)};
    };
    Engine engine(*decoder_, nullptr, kPages);
    engine.set_policy_version(3);
    Results results;
    RequestId id = engine.add({.token_ids = group.prompt.token_ids,
                               .params = params,
                               .address = address(line.back()),
                               .on_end = results.collect(),
                               .is_held = true});
    run(engine);
    for (auto sample = std::next(line.rbegin()); sample != line.rend(); ++sample) {
      id = engine.fork(id, group.samples[*sample].fork->num_tokens, address(*sample));
      run(engine);
    }
    return results.of(id);
  }

  std::vector<std::pair<int64_t, int64_t>> ended_;
  SamplerStats stats_;
};

/// Of each sample "-", or the one that it left and the segments that both have.
std::string forks_of(const Group& group) {
  std::string text;
  for (const Sample& sample : group.samples) {
    text += text.empty() ? "" : " ";
    text += sample.fork ? str(sample.fork->of, "@", sample.fork->num_segments) : "-";
  }
  return text;
}

SamplingParams without_stops(int64_t max_length) {
  SamplingParams params = sampling(max_length);
  params.stop_token_ids.clear();
  return params;
}

// Two begin at the prompt. After one segment each forks once; after two the four have room for four more.
TEST_F(TreeTest, ForksAtTheEndsOfSegments) {
  const TreeShape shape{.depth = 4, .branches = 2, .first_branches = 2};
  const auto groups = trees(without_stops(20), shape, {8, 7, 3});
  EXPECT_EQ(forks_of(groups[0]), "- - 0@1 1@1 0@2 1@2 2@2 3@2");
  EXPECT_EQ(forks_of(groups[1]), "- - 0@1 1@1 0@2 1@2 2@2");
  EXPECT_EQ(forks_of(groups[2]), "- - 0@1");
  for (const Sample& sample : groups[0].samples) {
    EXPECT_EQ(sample.completion.token_ids.size(), 20u);
    if (sample.fork) {
      EXPECT_EQ(sample.fork->num_tokens, 5 * sample.fork->num_segments);
    }
  }
  const auto wide = trees(without_stops(20), {.depth = 4, .branches = 3, .first_branches = 3}, {12});
  EXPECT_EQ(forks_of(wide[0]), "- - - 0@1 0@1 1@1 1@1 2@1 2@1 0@2 1@2 2@2");
}

TEST_F(TreeTest, TheNumberThatBeginsIsDrawn) {
  const auto groups =
      trees(without_stops(9), {.depth = 3, .branches = 2, .first_branches = 5}, std::vector<int64_t>(60, 6));
  std::set<int64_t> begun;
  for (const Group& group : groups) {
    begun.insert(std::ranges::count_if(group.samples, [](const Sample& sample) { return !sample.fork; }));
  }
  EXPECT_EQ(begun, (std::set<int64_t>{2, 3, 4, 5}));
}

TEST_F(TreeTest, EachCompletionIsWhatItIsByItself) {
  SamplingParams params = sampling(30);
  for (int32_t id = 0; id < 20; ++id) params.stop_token_ids.push_back(10 * id);  // many stop early
  params.min_tokens = 2;
  const TreeShape shape{.depth = 7, .branches = 2, .first_branches = 3};  // six segments of 5
  int64_t num_early_forks = 0;
  for (const int64_t cache_tokens : {int64_t{0}, int64_t{96}}) {
    const auto groups = trees(params, shape, {10, 10, 1, 10}, cache_tokens);
    std::ranges::sort(ended_);
    size_t end = 0;
    for (size_t p = 0; p < groups.size(); ++p) {
      for (size_t g = 0; g < groups[p].samples.size(); ++g) {
        SCOPED_TRACE(str("prompt ", p, ", sample ", g, ", cache ", cache_tokens));
        const Sample& sample = groups[p].samples[g];
        expect_same(sample.completion, by_itself(groups[p], p, static_cast<int64_t>(g), params));
        EXPECT_EQ(ended_.at(end++), std::pair(static_cast<int64_t>(p), static_cast<int64_t>(g)));
        if (!sample.fork) continue;
        EXPECT_LT(sample.fork->of, static_cast<int64_t>(g));
        const Completion& other = groups[p].samples[sample.fork->of].completion;
        EXPECT_LT(sample.fork->num_tokens, std::ssize(other.token_ids));
        num_early_forks += other.finish_reason == FinishReason::kStop;
      }
    }
    EXPECT_EQ(end, ended_.size());
    if (cache_tokens > 0) {
      EXPECT_GT(stats_.num_preemptions, 0);
    }
  }
  EXPECT_GT(num_early_forks, 0);
}

// Of 8 completions of 20 tokens, two have 5 tokens in common with another, and four have 10.
TEST_F(TreeTest, WhatIsSharedIsDrawnOnce) {
  const TreeShape shape{.depth = 4, .branches = 2, .first_branches = 2};
  trees(without_stops(20), shape, {8});
  const int64_t drawn = 8 * 20 - 2 * 5 - 4 * 10;
  // Rows of a page that is not full are forwarded again for each fork.
  EXPECT_GE(stats_.completion_rows, drawn - 8);
  EXPECT_LE(stats_.completion_rows, drawn + 6 * kPageRows);
}

}  // namespace
}  // namespace cohort
