// The trainer's gradient of whole objectives against the same terms written out over all tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/run/batch_passes.h"
#include "libs/common/random.h"
#include "tests/models/tiny_decoder.h"
#include "tests/rounding.h"

namespace cohort {
namespace {

/// Entropies sum over the 300 ids of the vocabulary.
const double kRounding = rounding_bound(300);
const LossOptions kOptions{.temperature = 1.3, .tokens_per_microbatch = 64};

/// Two groups of three samples; those of the first have advantages, those of the second 0.
std::vector<Group> two_groups(const Decoder& policy) {
  CounterRng random(29);
  const auto ids = [&](int64_t count) {
    std::vector<int32_t> list(count);
    for (int32_t& id : list) id = static_cast<int32_t>(random.below(300));
    return list;
  };
  std::vector<Group> groups(2);
  for (size_t g = 0; g < groups.size(); ++g) {
    groups[g].prompt.token_ids = ids(5);
    for (const double advantage : {1.2, -0.5, 0.3}) {
      Sample& sample = groups[g].samples.emplace_back();
      sample.completion.token_ids = ids(2 + random.below(9));
      sample.advantage = g == 0 ? advantage : 0.0;
    }
  }
  fill_ref_logprobs(policy, groups, kOptions);  // the policy's own
  for_each_sample(groups, [](Sample& sample) { sample.completion.sampler_logprobs = sample.ref_logprobs; });
  return groups;
}

std::vector<at::Tensor> taken_gradients(const Decoder& decoder) {
  std::vector<at::Tensor> gradients;
  for (at::Tensor parameter : decoder.parameters()) {
    gradients.push_back(parameter.grad().clone());
    parameter.mutable_grad() = at::Tensor();
  }
  return gradients;
}

class PolicyGradientTest : public testing::Test {
 protected:
  /// The gradient of `loss(log-probabilities, entropies)` over the tokens of all completions in one pass.
  std::vector<at::Tensor> gradient_of(
      const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& loss) const {
    const auto packed = pack(forwarded_groups(groups_, has_tokens), at::kCPU);
    const TokenLogprobs values = packed_logprobs(*decoder_, *packed, kOptions.temperature);
    loss(values.logprobs, values.entropies).backward();
    return taken_gradients(*decoder_);
  }

  /// Calls f(log-probability under the reference, its place) for all tokens.
  template <typename F>
  void for_each_reference(F f) {
    size_t place = 0;
    for_each_sample(groups_, [&](Sample& sample) {
      for (float& logprob : sample.ref_logprobs) f(logprob, place++);
    });
  }

  /// Per token, what `of` says of its sample.
  template <typename F>
  at::Tensor per_token(F of) const {
    std::vector<double> values;
    for_each_sample(groups_, [&](const Sample& sample) {
      values.insert(values.end(), sample.completion.token_ids.size(), of(sample));
    });
    return at::tensor(values, at::kDouble).to(at::kFloat);
  }

  void expect_gradients(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const double size = expected[i].norm().item<double>();
      EXPECT_GT(size, 0.0);
      EXPECT_LT((actual[i] - expected[i]).norm().item<double>(), 1e-5 * size) << "parameter " << i;
    }
  }

  const ThreadCount one_thread_{1};
  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  std::vector<Group> groups_ = two_groups(*decoder_);
};

TEST_F(PolicyGradientTest, TheEntropyBonusTakesTokensWithoutAdvantageToo) {
  LossConfig objective;
  objective.entropy_coef = 0.3;
  const LossResult result = accumulate_policy_gradient(*decoder_, groups_, objective, kOptions);
  const std::vector<at::Tensor> actual = taken_gradients(*decoder_);
  const at::Tensor weights = per_token([](const Sample& sample) {
    return -sample.advantage / (6.0 * static_cast<double>(sample.completion.token_ids.size()));
  });
  double mean = 0.0;
  expect_gradients(actual, gradient_of([&](const at::Tensor& logprobs, const at::Tensor& entropies) {
                     mean = entropies.mean().item<double>();
                     return (weights * logprobs).sum() - 0.3 * entropies.mean();
                   }));
  EXPECT_NEAR(result.objective.values().at("entropy_loss"), -0.3 * mean, kRounding * mean);
  EXPECT_NEAR(result.objective.values().at("bonus_entropy"), mean, kRounding * mean);
}

TEST_F(PolicyGradientTest, ACoefficientInTheSettingsPlaceIsMeasuredAtZero) {
  const LossResult off = accumulate_policy_gradient(*decoder_, groups_, {}, kOptions, {.entropy_coef = 0.0});
  const std::vector<at::Tensor> without = taken_gradients(*decoder_);
  accumulate_policy_gradient(*decoder_, groups_, {}, kOptions);
  expect_gradients(without, taken_gradients(*decoder_));
  const LossResult on = accumulate_policy_gradient(*decoder_, groups_, {}, kOptions, {.entropy_coef = 0.3});
  EXPECT_EQ(off.objective.values().at("entropy_loss"), 0.0);
  EXPECT_GT(on.objective.values().at("bonus_entropy"), 1.0);
  const double entropy = on.objective.values().at("bonus_entropy");
  EXPECT_NEAR(entropy, off.objective.values().at("bonus_entropy"), kRounding * entropy);
  EXPECT_NEAR(on.objective.values().at("entropy_loss"), -0.3 * entropy, kRounding * entropy);
}

TEST_F(PolicyGradientTest, GroupsMayHaveBetasOfTheirOwn) {
  groups_[0].beta = 0.0;
  groups_[1].beta = 0.4;
  for_each_reference([](float& logprob, size_t i) { logprob += i % 2 == 0 ? 0.3f : -0.2f; });
  LossConfig objective;
  objective.beta = 7.0;  // the groups' own hold
  objective.kl_estimator = "k2";
  accumulate_policy_gradient(*decoder_, groups_, objective, kOptions);
  const std::vector<at::Tensor> actual = taken_gradients(*decoder_);
  size_t index = 0;
  const at::Tensor advantages = per_token([](const Sample& sample) { return sample.advantage; });
  const at::Tensor lengths = per_token(
      [](const Sample& sample) { return 6.0 * static_cast<double>(sample.completion.token_ids.size()); });
  const at::Tensor betas = per_token([&](const Sample&) { return index++ < 3 ? 0.0 : 0.4; });
  std::vector<float> all_ref;
  for_each_reference([&](float& logprob, size_t) { all_ref.push_back(logprob); });
  const at::Tensor ref = at::tensor(all_ref);
  expect_gradients(
      actual, gradient_of([&](const at::Tensor& logprobs, const at::Tensor&) {
        return ((betas * 0.5 * (logprobs - ref).square() - advantages * logprobs) / lengths).sum();
      }));
}

TEST_F(PolicyGradientTest, ADemonstrationsTokensHaveTheShapedLoss) {
  groups_[0].samples[1].is_demonstration = true;
  std::vector<float>& unknown = groups_[0].samples[1].completion.sampler_logprobs;
  std::fill(unknown.begin(), unknown.end(), 0.0f);
  const LossResult result = accumulate_policy_gradient(*decoder_, groups_, {}, kOptions);
  const std::vector<at::Tensor> actual = taken_gradients(*decoder_);
  const at::Tensor weights = per_token([](const Sample& sample) {
    return -sample.advantage / (6.0 * static_cast<double>(sample.completion.token_ids.size()));
  });
  const at::Tensor is_demonstration = per_token([](const Sample& sample) { return sample.is_demonstration; });
  expect_gradients(actual, gradient_of([&](const at::Tensor& logprobs, const at::Tensor&) {
                     const at::Tensor p = logprobs.exp();
                     return (weights * at::where(is_demonstration > 0, p / (p + 0.1), logprobs)).sum();
                   }));
  EXPECT_LT(result.logprob_difference_max, 1e-5);
  EXPECT_NEAR(result.objective.values().at("ratio/max"), 1.0, 1e-5);
}

// The gradient that comes back from the completions' weights, of batches cut in any way.
TEST_F(PolicyGradientTest, TheLengthPreferenceHasTheLosssGradient) {
  LossConfig objective;
  objective.aggregation = "token_mean";
  objective.entropy_coef = 0.01;
  const auto loss_at = [&](double preference) {
    objective.length_preference = preference;
    const LossResult result = accumulate_policy_gradient(*decoder_, groups_, objective, kOptions);
    taken_gradients(*decoder_);
    return result.objective.values().at("loss");
  };
  const double numeric = (loss_at(0.7 + 1e-2) - loss_at(0.7 - 1e-2)) / 2e-2;
  EXPECT_GT(std::abs(numeric), 1e-3);
  objective.length_preference = 0.0;
  for (const int64_t rows : {1, 20, 1000}) {
    LossOptions options = kOptions;
    options.tokens_per_microbatch = rows;
    const LossResult result =
        accumulate_policy_gradient(*decoder_, groups_, objective, options, {.length_preference = 0.7});
    EXPECT_NEAR(result.length_preference_gradient, numeric, 1e-4 * std::abs(numeric)) << rows;
    // The loss contains a hundredth of an entropy of about 6.
    EXPECT_NEAR(result.objective.values().at("loss"), loss_at(0.7), kRounding);
    objective.length_preference = 0.0;
  }
}

}  // namespace
}  // namespace cohort
