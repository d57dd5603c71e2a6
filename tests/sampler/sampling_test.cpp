// Kept sets, log-probabilities and draws of one row of logits.
#include "cohort/sampler/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "libs/common/random.h"

namespace cohort {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const double kAlmostOne = std::nextafter(1.0, 0.0);

SamplingParams filters(int64_t top_k, double top_p, double min_p) {
  SamplingParams params;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  return params;
}

SampledToken sample(const std::vector<float>& logits, const SamplingParams& params, double uniform) {
  return sample_token(logits.data(), static_cast<int64_t>(logits.size()), params, uniform);
}

std::vector<int32_t> kept_of(const SampledToken& token) {
  return token.kept_ids != nullptr ? *token.kept_ids : std::vector<int32_t>{};
}

std::vector<double> softmax(const std::vector<float>& logits, const std::vector<int32_t>& ids) {
  double largest = -kInfinity, total = 0.0;
  for (const int32_t id : ids) largest = std::max<double>(largest, logits[id]);
  std::vector<double> p;
  for (const int32_t id : ids) total += p.emplace_back(std::exp(logits[id] - largest));
  for (double& value : p) value /= total;
  return p;
}

/// The definitions, step by step over a full sort.
std::vector<int32_t> kept_by_definition(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<int32_t> kept(logits.size());
  std::iota(kept.begin(), kept.end(), 0);
  std::stable_sort(kept.begin(), kept.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (params.top_k > 0) kept.resize(std::min<size_t>(kept.size(), params.top_k));
  if (params.top_p < 1.0) {
    const std::vector<double> p = softmax(logits, kept);
    double before = 0.0;
    size_t count = 0;
    while (count < p.size() && (count == 0 || before < params.top_p)) before += p[count++];
    kept.resize(count);
  }
  if (params.min_p > 0.0) {
    const std::vector<double> p = softmax(logits, kept);
    size_t count = 1;
    while (count < p.size() && p[count] >= params.min_p * p[0]) ++count;
    kept.resize(count);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<float> random_logits(uint64_t seed, int64_t vocabulary, double spread, double grain) {
  CounterRng random(seed);
  std::vector<float> logits;
  for (int64_t i = 0; i < vocabulary; ++i) {
    const double x = spread * (random.next_unit() + random.next_unit() + random.next_unit() - 1.5);
    logits.push_back(static_cast<float>(grain > 0.0 ? std::round(x / grain) * grain : x));
  }
  return logits;
}

TEST(Sampling, KeepsWhatTransformersKeeps) {
  // TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper and MinPLogitsWarper of transformers 5.18, in
  // this order; then log_softmax of id 2 in float64.
  const std::vector<float> logits{1.5, -0.25, 3.0, 0.75, -2.0, 2.5, 0.0, -1.0, 2.0, -3.5, 0.5, 1.0};
  struct Case {
    double temperature;
    int64_t top_k;
    double top_p, min_p;
    std::vector<int32_t> kept;
    double logprob;
  };
  const Case cases[] = {
      {1.0, 5, 1.0, 0.0, {0, 2, 5, 8, 11}, -0.8471016},
      {1.0, 0, 0.8, 0.0, {0, 2, 5, 8}, -0.7873387},
      {0.5, 0, 0.8, 0.0, {2, 5}, -0.3132617},
      {2.0, 0, 0.8, 0.0, {0, 2, 3, 5, 8, 10, 11}, -1.3446217},
      {1.0, 0, 1.0, 0.1, {0, 2, 3, 5, 8, 11}, -0.8912907},
      {0.5, 0, 1.0, 0.1, {2, 5, 8}, -0.4076060},
      {1.0, 6, 0.7, 0.0, {2, 5, 8}, -0.6802697},
      {1.5, 8, 0.9, 0.25, {0, 2, 5, 8, 11}, -1.0513198},
      {0.7, 4, 0.95, 0.05, {0, 2, 5, 8}, -0.6132984},
      {1.0, 0, 0.1, 0.0, {2}, 0.0000000},
      {1.0, 1, 0.5, 0.5, {2}, 0.0000000},
      {3.0, 9, 0.99, 0.3, {0, 1, 2, 3, 5, 6, 8, 10, 11}, -1.6670029},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.temperature << " " << c.top_k << " " << c.top_p << " " << c.min_p);
    std::vector<float> scaled;
    for (const float x : logits) scaled.push_back(static_cast<float>(x / c.temperature));
    SamplingParams params = filters(c.top_k, c.top_p, c.min_p);
    params.temperature = 0.0;
    const SampledToken token = sample(scaled, params, 0.5);
    EXPECT_EQ(kept_of(token), c.kept);
    EXPECT_EQ(token.id, 2);
    EXPECT_NEAR(token.logprob, c.logprob, 1e-6);
  }
}

const std::vector<float> kLogits{1.5, -0.25, 3.0, 0.75, -2.0, 2.5, 0.0, -1.0, 2.0, -3.5, 0.5, 1.0};
const std::vector<int32_t> kPromptIds{2, 7, 7}, kCompletionIds{5, 1, 5, 9};

/// The log-probability of every id behind kPromptIds and kCompletionIds, each drawn from itself alone.
std::vector<double> logprobs_behind(SamplingParams params) {
  std::vector<float> scaled;
  for (const float x : kLogits) scaled.push_back(static_cast<float>(x / params.temperature));
  std::vector<double> logprobs(scaled.size(), 1.0);
  for (int i = 0; i < 4000; ++i) {
    const SampledToken token = sample_token(scaled.data(), std::ssize(scaled), params, (i + 0.5) / 4000,
                                            {kPromptIds, kCompletionIds});
    logprobs[token.id] = token.logprob;
  }
  return logprobs;
}

void expect_logprobs(const SamplingParams& params, const std::vector<double>& expected) {
  const std::vector<double> logprobs = logprobs_behind(params);
  for (size_t id = 0; id < expected.size(); ++id) {
    // The rarest are not among 4000 draws.
    if (expected[id] <= -7.5) continue;
    EXPECT_NEAR(logprobs[id], expected[id], 2e-6) << "id " << id;
  }
}

TEST(Sampling, PenalizesAsTransformersDoes) {
  // SequenceBiasLogitsProcessor, RepetitionPenaltyLogitsProcessor and TemperatureLogitsWarper of transformers
  // 5.18 in this order, in float64; input_ids are the prompt's and the completion's.
  SamplingParams params;
  params.repetition_penalty = 1.3;
  expect_logprobs(params, {-2.1213736, -3.9463736, -1.3136813, -2.8713736, -5.6213736, -1.6982967, -3.6213736,
                           -4.9213736, -1.6213736, -8.1713736, -3.1213736, -2.6213736});
  params.temperature = 0.7;
  expect_logprobs(params, {-2.2333681, -4.8405109, -1.0795219, -3.3047967, -7.2333681, -1.6289725, -4.3762252,
                           -6.2333681, -1.5190824, -10.8762252, -3.6619395, -2.9476538});
  params.temperature = 1.0;
  params.repetition_penalty = 0.8;
  expect_logprobs(params, {-2.9555086, -4.6555086, -0.7055086, -3.7055086, -6.4555086, -1.3305086, -4.4555086,
                           -5.2555086, -2.4555086, -7.2555086, -3.9555086, -3.4555086});
  params.repetition_penalty = 1.0;
  params.temperature = 2.0;
  params.logit_bias = {{3, 2.5}, {2, -1.5}};
  expect_logprobs(params, {-2.3173304, -3.1923304, -2.3173304, -1.4423304, -4.0673304, -1.8173304, -3.0673304,
                           -3.5673304, -2.0673304, -4.8173304, -2.8173304, -2.5673304});
  params.repetition_penalty = 1.5;
  params.temperature = 0.5;
  params.logit_bias = {{2, -4.0}, {9, 6.0}};
  expect_logprobs(params, {-1.9899306, -5.7399306, -7.9899306, -3.4899306, -8.9899306, -1.6565972, -4.9899306,
                           -7.9899306, -0.9899306, -1.6565972, -3.9899306, -2.9899306});
}

TEST(Sampling, PenalizesPresenceAndFrequencyOfTheCompletionAlone) {
  // logits - 0.5 * count - 0.75 * (count > 0), counts of the completion: 5 twice, 1 and 9 once.
  SamplingParams params;
  params.temperature = 2.0;
  params.frequency_penalty = 0.5;
  params.presence_penalty = 0.75;
  std::vector<float> edited = kLogits;
  edited[5] -= 1.75f;
  edited[1] -= 1.25f;
  edited[9] -= 1.25f;
  std::vector<int32_t> all(edited.size());
  std::iota(all.begin(), all.end(), 0);
  for (float& logit : edited) logit /= 2.0f;
  std::vector<double> expected = softmax(edited, all);
  for (double& p : expected) p = std::log(p);
  expect_logprobs(params, expected);
}

TEST(Sampling, DrawsFromTheAllowedIdsAlone) {
  const auto allowed = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{0, 1, 4, 5, 8, 9});
  const DrawContext context{{}, {}, allowed};
  SamplingParams params;
  for (const double uniform : {0.0, 0.3, 0.6, kAlmostOne}) {
    const SampledToken token = sample_token(kLogits.data(), std::ssize(kLogits), params, uniform, context);
    EXPECT_EQ(token.kept_ids, allowed);
    const auto place = std::find(allowed->begin(), allowed->end(), token.id) - allowed->begin();
    ASSERT_LT(place, std::ssize(*allowed));
    EXPECT_NEAR(token.logprob, std::log(softmax(kLogits, *allowed)[place]), 1e-6);
  }
  params.top_k = 2;
  const SampledToken token = sample_token(kLogits.data(), std::ssize(kLogits), params, 0.0, context);
  EXPECT_EQ(kept_of(token), (std::vector<int32_t>{5, 8}));
  EXPECT_EQ(token.id, 5);
}

TEST(Sampling, KeepsWhatTheDefinitionsKeep) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CounterRng random(seed, {1});
    const int64_t vocabulary = 1 + random.below(700);
    const double spread = seed % 2 == 0 ? 4.0 : 12.0, grain = seed % 3 == 0 ? 0.5 : 0.0;
    const std::vector<float> logits = random_logits(seed, vocabulary, spread, grain);
    for (int mask = 1; mask < 8; ++mask) {
      const SamplingParams params =
          filters((mask & 1) != 0 ? 1 + random.below(vocabulary + 3) : 0,
                  (mask & 2) != 0 ? 0.02 + 0.975 * random.next_unit() : 1.0,
                  (mask & 4) != 0 ? std::pow(10.0, -3.0 * random.next_unit()) : 0.0);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", top_k " << params.top_k << ", top_p "
                                      << params.top_p << ", min_p " << params.min_p);
      const SampledToken token = sample(logits, params, random.next_unit());
      const std::vector<int32_t> expected = kept_by_definition(logits, params);
      ASSERT_EQ(kept_of(token), expected);
      const auto at = std::find(expected.begin(), expected.end(), token.id) - expected.begin();
      ASSERT_LT(at, static_cast<int64_t>(expected.size()));
      const double logprob = std::log(softmax(logits, expected)[at]);
      EXPECT_NEAR(token.logprob, logprob, 2e-6 * (1 + std::abs(logprob)));
    }
  }
}

TEST(Sampling, GivesTiesToTheLowerId) {
  const std::vector<float> logits{1, 2, 2, 2, 0};
  EXPECT_EQ(kept_of(sample(logits, filters(2, 1.0, 0.0), 0.0)), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(kept_of(sample(logits, filters(0, 0.01, 0.0), 0.0)), (std::vector<int32_t>{1}));
  EXPECT_EQ(kept_of(sample(logits, filters(0, 1.0, 1.0), 0.0)), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(kept_of(sample(logits, filters(99, 1.0, 0.0), 0.0)), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  SamplingParams greedy;
  greedy.temperature = 0.0;
  const SampledToken token = sample(logits, greedy, 0.99);
  EXPECT_EQ(token.id, 1);
  EXPECT_EQ(token.kept_ids, nullptr);
  EXPECT_NEAR(token.logprob, 2.0 - std::log(3 * std::exp(2.0) + std::exp(1.0) + 1.0), 1e-6);
}

/// The draw of evenly spread uniforms: every id must come as often as its probability says, give or take
/// rounding.
TEST(Sampling, InvertsTheCumulativeDistribution) {
  constexpr int kDraws = 20000;
  for (const int64_t vocabulary : {7, 255, 256, 257, 1000}) {
    const std::vector<float> logits = random_logits(5, vocabulary, 3.0, 0.0);
    std::vector<int32_t> all(vocabulary);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<double> p = softmax(logits, all);
    std::vector<int> counts(vocabulary);
    int32_t previous = 0;
    for (int i = 0; i < kDraws; ++i) {
      const int32_t id = sample(logits, {}, (i + 0.5) / kDraws).id;
      ASSERT_GE(id, previous);
      ++counts[previous = id];
    }
    for (int64_t id = 0; id < vocabulary; ++id)
      EXPECT_NEAR(counts[id], kDraws * p[id], 1.1) << vocabulary << " " << id;
  }
}

TEST(Sampling, DrawsWithTheRightFrequencies) {
  constexpr int kDraws = 60000;
  const std::vector<float> logits = random_logits(11, 300, 2.0, 0.0);
  for (const SamplingParams& params : {SamplingParams{}, filters(40, 0.9, 0.0)}) {
    std::vector<int32_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    if (params.is_filtered()) ids = kept_by_definition(logits, params);
    const std::vector<double> p = softmax(logits, ids);
    std::vector<int> counts(logits.size());
    for (uint64_t i = 0; i < kDraws; ++i) ++counts[sample(logits, params, random_unit(3, {i})).id];
    double chi_square = 0.0;
    for (size_t i = 0; i < ids.size(); ++i) {
      chi_square += std::pow(counts[ids[i]] - kDraws * p[i], 2) / (kDraws * p[i]);
    }
    const double freedom = static_cast<double>(ids.size()) - 1.0;
    EXPECT_LT(chi_square, freedom + 6.0 * std::sqrt(2.0 * freedom));
  }
}

TEST(Sampling, NeverDrawsTheImpossible) {
  // Blocks without any probability before, between and behind; a tail longer than a block.
  std::vector<float> logits(2000, -kInfinity);
  logits[300] = 1.0f;
  logits[301] = 1.5f;
  logits[1100] = -2.0f;
  for (const SamplingParams& params :
       {SamplingParams{}, filters(0, 0.9999999, 0.0), filters(1500, 1.0, 0.0)}) {
    EXPECT_EQ(sample(logits, params, 0.0).id, 300);
    EXPECT_EQ(sample(logits, params, kAlmostOne).id, 1100);
    for (int i = 0; i < 1000; ++i) {
      const SampledToken token = sample(logits, params, i / 1000.0);
      ASSERT_TRUE(token.id == 300 || token.id == 301 || token.id == 1100) << token.id;
      ASSERT_TRUE(std::isfinite(token.logprob));
    }
  }
}

TEST(Sampling, EndsAtTheLastTokenWhateverTheRounding) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::vector<float> logits = random_logits(seed, 900, 10.0, 0.0);
    const int64_t last = 100 + static_cast<int64_t>(seed);
    std::fill(logits.begin() + last + 1, logits.end(), -kInfinity);
    EXPECT_LE(sample(logits, {}, kAlmostOne).id, last) << seed;
    EXPECT_EQ(sample(logits, {}, 0.0).id, 0) << seed;
  }
  // 1 + 4 * 1.2e-16, added one by one in float64, is 1 + 8.9e-16: a draw could walk past all of them.
  std::vector<float> logits(1700, -kInfinity);
  logits[0] = 0.0f;
  for (const int64_t id : {256, 512, 768, 1024}) logits[id] = std::log(1.2e-16f);
  EXPECT_EQ(sample(logits, {}, kAlmostOne).id, 1024);
}

TEST(Sampling, StandsHugeLogits) {
  std::vector<float> logits(600, -1e30f);
  logits[70] = 1e30f;
  for (const double uniform : {0.0, 0.5, kAlmostOne}) {
    for (const SamplingParams& params : {SamplingParams{}, filters(3, 0.5, 0.1)}) {
      const SampledToken token = sample(logits, params, uniform);
      EXPECT_EQ(token.id, 70);
      EXPECT_EQ(token.logprob, 0.0f);
    }
  }
  const std::vector<float> equal(600, 1e30f);
  EXPECT_EQ(sample(equal, {}, 0.5).id, 300);
}

TEST(Sampling, SurvivesLogitsThatAreNoNumbers) {
  const std::vector<float> logits(600, std::numeric_limits<float>::quiet_NaN());
  for (const SamplingParams& params : {SamplingParams{}, filters(5, 1.0, 0.0), filters(0, 0.5, 0.1)}) {
    const SampledToken token = sample(logits, params, 0.3);
    EXPECT_TRUE(token.id >= 0 && token.id < 600);
    EXPECT_TRUE(std::isnan(token.logprob));
  }
}

TEST(Sampling, TellsOfOneLogitThatIsNoNumber) {
  const auto allowed = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{3, 17, 40, 500});
  SamplingParams greedy = filters(5, 1.0, 0.0);
  greedy.temperature = 0.0;
  for (const int64_t place : {0, 17, 599}) {
    std::vector<float> logits = random_logits(7, 600, 4.0, 0.0);
    logits[place] = std::numeric_limits<float>::quiet_NaN();
    for (const SamplingParams& params :
         {SamplingParams{}, filters(5, 1.0, 0.0), filters(0, 0.5, 0.0), filters(0, 1.0, 0.1), greedy}) {
      for (const KeptIds& ids : {KeptIds{}, KeptIds{allowed}}) {
        const SampledToken token = sample_token(logits.data(), 600, params, 0.3, {.allowed = ids});
        EXPECT_TRUE(std::isnan(token.logprob)) << place << " " << token.logprob;
        const std::vector<int32_t> kept = kept_of(token);
        EXPECT_EQ(kept.empty(), !params.is_filtered() && ids == nullptr);
        EXPECT_TRUE(kept.empty() || std::ranges::find(kept, token.id) != kept.end()) << token.id;
        EXPECT_TRUE(ids == nullptr || std::ranges::find(*ids, token.id) != ids->end()) << token.id;
      }
    }
  }
}

// Logits ln 1, ln 2, ln 3, ln 2: probabilities 1/8, 2/8, 3/8, 2/8.
TEST(TopLogprobs, OfTheKeptSetFallingWithTiesByTheLowerId) {
  const std::vector<float> logits{0.0f, std::log(2.0f), std::log(3.0f), std::log(2.0f)};
  SamplingParams params;
  EXPECT_TRUE(sample(logits, params, 0.5).top_logprobs.empty());
  params.num_top_logprobs = 3;
  const auto expect = [](const SampledToken& token, const std::vector<std::pair<int32_t, double>>& wanted) {
    ASSERT_EQ(token.top_logprobs.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(token.top_logprobs[i].first, wanted[i].first);
      EXPECT_NEAR(token.top_logprobs[i].second, std::log(wanted[i].second), 1e-6);
    }
  };
  expect(sample(logits, params, 0.5), {{2, 3.0 / 8}, {1, 2.0 / 8}, {3, 2.0 / 8}});
  params.top_k = 2;  // keeps 2 and 1
  expect(sample(logits, params, 0.5), {{2, 3.0 / 5}, {1, 2.0 / 5}});
  params.top_k = 0;
  const auto allowed = std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{0, 3});
  expect(sample_token(logits.data(), 4, params, 0.5, {.allowed = allowed}), {{3, 2.0 / 3}, {0, 1.0 / 3}});
  const SampledToken given = given_token(logits.data(), 4, 0, 1);
  EXPECT_NEAR(given.logprob, std::log(1.0 / 8), 1e-6);
  expect(given, {{2, 3.0 / 8}});
}

}  // namespace
}  // namespace cohort
