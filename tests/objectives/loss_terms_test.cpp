// What each term and batch mask adds to the composed loss, worked out beside it.
#include <gtest/gtest.h>

#include "cohort/objectives/batch_filters.h"
#include "cohort/objectives/discriminative.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/pairs.h"
#include "cohort/objectives/value_loss.h"
#include "cohort/objectives/vespo.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/loss_compositions.h"

namespace cohort {
namespace {

Segments completions_of(const LossInput& input) { return Segments(input.lengths, at::Device(at::kCPU)); }

double loss_of(const LossInput& input, const ConfigChange& change) {
  return policy_loss(input, config_of(change)).loss.item<double>();
}

/// How much the change adds to the loss.
double added(const LossInput& input, const ConfigChange& change) {
  return loss_of(input, change) - loss_of(input, [](LossConfig&) {});
}

at::Tensor token_gradient(const LossInput& input, const ConfigChange& change) {
  return gradient_of(
      [&](const at::Tensor& policy) {
        LossInput moved = input;
        moved.policy_logprobs = policy;
        return policy_loss(moved, config_of(change)).loss;
      },
      input.policy_logprobs);
}

/// 1 / (completions * tokens of the completion) for each token.
at::Tensor mean_weights(const LossInput& input) {
  const Segments completions = completions_of(input);
  return 1.0 / (6.0 * completions.expand(completions.lengths(at::kDouble)));
}

TEST(LossTerms, EntropyIsAMeanOverTheTokensItActsOn) {
  const LossInput input = small_batch();
  const auto bonus = [](LossConfig& c) { c.entropy_coef = 0.1; };
  EXPECT_NEAR(added(input, bonus), -0.1 * input.entropies.mean().item<double>(), 1e-14);
  const auto top = [](LossConfig& c) { c.top_entropy_quantile = 0.4; };
  const auto both = [](LossConfig& c) {
    c.entropy_coef = 0.1;
    c.top_entropy_quantile = 0.4;
  };
  // 15 tokens, of which the 0.6 quantile leaves 6.
  const at::Tensor largest = std::get<0>(input.entropies.topk(6));
  EXPECT_NEAR(loss_of(input, both) - loss_of(input, top), -0.1 * largest.mean().item<double>(), 1e-14);
}

TEST(LossTerms, CriticIsAMeanOverTokens) {
  const LossInput input = small_batch();
  const at::Tensor loss = clipped_value_loss(input.values, input.old_values, input.returns, 0.2);
  EXPECT_NEAR(added(input, [](LossConfig& c) { c.value_coef = 0.5; }), 0.5 * loss.mean().item<double>(),
              1e-14);
}

TEST(LossTerms, LikelihoodOfRightCompletionsOrDemonstrations) {
  LossInput input = small_batch();
  const auto mean_of = [&](const std::vector<int64_t>& tokens) {
    return input.policy_logprobs.index_select(0, at::tensor(tokens, at::kLong)).mean().item<double>();
  };
  EXPECT_NEAR(added(input, [](LossConfig& c) { c.nll_coef = 0.1; }), -0.1 * mean_of({0, 1, 2, 3, 8, 9}),
              1e-14);
  EXPECT_NEAR(added(input,
                    [](LossConfig& c) {
                      c.nll_coef = 0.1;
                      c.positive_threshold = -1;
                    }),
              -0.1 * input.policy_logprobs.mean().item<double>(), 1e-14);
  input.is_demonstration = {0, 0, 1, 0, 0, 0};
  EXPECT_NEAR(added(input,
                    [](LossConfig& c) {
                      c.nll_coef = 0.1;
                      c.nll_on = "demonstration";
                    }),
              -0.1 * mean_of({5, 6, 7}), 1e-14);
}

TEST(LossTerms, PairsAreAMeanOverPairs) {
  const LossInput input = small_batch();
  const at::Tensor means = completions_of(input).mean(input.policy_logprobs);
  // The fifth completion has no tokens.
  const double sum = pair_loss_sum(means, {{0, 0, 3}, {1, 2, 5}}, 0.2).item<double>();
  EXPECT_NEAR(added(input, [](LossConfig& c) { c.dpo_coef = 0.3; }), 0.3 * sum / 3, 1e-14);
}

TEST(LossTerms, DiscriminativeLossIsAMeanOverContrasts) {
  const LossInput input = small_batch();
  const auto change = [](LossConfig& c) { c.surrogate = "drpo_decoupled"; };
  const double sum = discriminative_loss_sum(input.policy_logprobs, input.rewards, completions_of(input),
                                             input.group_ends, config_of(change))
                         .item<double>();
  EXPECT_NEAR(loss_of(input, change), sum / 2, 1e-14);
}

TEST(LossTerms, BudgetWeighsItsExcess) {
  LossInput input = small_batch();
  input.old_logprobs = input.policy_logprobs + scattered(15, 2, -0.5, 0.9);
  const double kl = (input.old_logprobs - input.policy_logprobs).mean().item<double>();
  ASSERT_GT(kl, 0.01);
  const auto budget = [](LossConfig& c) { c.kl_budget_coef = 100; };  // kl_budget is 0.001
  EXPECT_NEAR(added(input, budget), 100 * (kl - 0.001) * kl, 1e-13);
  const at::Tensor slope = token_gradient(input, budget) - token_gradient(input, [](LossConfig&) {});
  EXPECT_LT((slope + 100 * (kl - 0.001) / 15).abs().max().item<double>(), 1e-13);
  input.old_logprobs = input.policy_logprobs - 0.1;  // below the budget
  EXPECT_EQ(added(input, budget), 0.0);
}

TEST(LossTerms, KlCovPenalisesTheLargestCovariances) {
  const LossInput input = small_batch();
  const at::Tensor advantages = completions_of(input).expand(input.advantages);
  const at::Tensor chosen = kl_cov_mask(token_covariance(input.policy_logprobs, advantages), 0.3);
  EXPECT_EQ(chosen.sum().item<double>(), 4);
  const at::Tensor cost = chosen * (input.policy_logprobs - input.old_logprobs).abs() * mean_weights(input);
  EXPECT_NEAR(added(input,
                    [](LossConfig& c) {
                      c.kl_cov_ratio = 0.3;
                      c.kl_cov_coef = 0.7;
                    }),
              0.7 * cost.sum().item<double>(), 1e-14);
}

TEST(LossTerms, BatchMasksTakeThePolicyTermOutAlone) {
  const LossInput input = small_batch();
  const at::Tensor log_ratio = input.policy_logprobs - input.old_logprobs;
  const at::Tensor is_kept = second_moment_mask(log_ratio, 0.05);
  const auto with_kl = [](LossConfig& c) { c.beta = 0.1; };
  const auto masked = [](LossConfig& c) {
    c.beta = 0.1;
    c.second_moment_max = 0.05;
  };
  const at::Tensor kl = token_gradient(input, [](LossConfig& c) {
    c.beta = 0.1;
    c.log_ratio_max = -20.0;  // no policy term at all
  });
  const at::Tensor policy = token_gradient(input, with_kl) - kl;
  EXPECT_GT((policy * (1 - is_kept)).abs().max().item<double>(), 0.0);
  EXPECT_LT((token_gradient(input, masked) - kl - policy * is_kept).abs().max().item<double>(), 1e-15);
}

TEST(LossTerms, ClipCovDropsDrawnTokensThatAreNotClipped) {
  const LossInput input = small_batch();
  const auto change = [](LossConfig& c) {
    c.clip_cov_ratio = 0.3;
    c.clip_cov_min = 0.0;
  };
  const at::Tensor before = token_gradient(input, [](LossConfig&) {}), after = token_gradient(input, change);
  const at::Tensor is_dropped = (before != 0).logical_and(after == 0);
  EXPECT_EQ(is_dropped.sum().item<int64_t>(), 4);
  EXPECT_EQ((before - after).masked_select(is_dropped.logical_not()).abs().max().item<double>(), 0.0);
}

TEST(LossTerms, VespoTakesTheMismatchIntoItsWeightOnce) {
  const LossInput input = small_batch();
  const Segments completions = completions_of(input);
  const at::Tensor mismatch =
      mismatch_weights("token_truncate", input.old_logprobs, input.sampler_logprobs, completions, {}, 3.0);
  const at::Tensor advantages = completions.expand(input.advantages);
  const at::Tensor phi = vespo_weights(input.policy_logprobs - input.old_logprobs, advantages, mismatch,
                                       completions, {2, 3, 3, 2});
  const at::Tensor gradient = token_gradient(input, [](LossConfig& c) {
    c.surrogate = "vespo";
    c.importance_sampling_mode = "token_truncate";
  });
  EXPECT_LT((gradient + mean_weights(input) * phi * advantages).abs().max().item<double>(), 1e-15);
}

}  // namespace
}  // namespace cohort
