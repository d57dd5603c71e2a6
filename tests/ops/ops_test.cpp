// Each operation against its plain formula in float64, values and gradients.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <utility>

#include "cohort/ops/attention.h"
#include "cohort/ops/gated_activation.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/moe.h"
#include "cohort/ops/qkv_heads.h"
#include "cohort/ops/rms_norm.h"
#include "cohort/ops/token_logprobs.h"
#include "tests/ops/ops_case.h"
#include "tests/ops/tensors.h"
#include "tests/rounding.h"

namespace cohort {
namespace {

TEST_P(OpsTest, Linear) {
  compare({randn({37, 48}), randn({29, 48}) * 0.2, randn({29})}, {false, true, true},
          [](const auto& in, at::ScalarType compute) {
            auto* linear = new Linear(in[1], in[2], compute);  // outlives the graph
            return std::vector<at::Tensor>{linear->forward(in[0])};
          });
}

TEST_P(OpsTest, LinearOfAnOpKeepsTheSourceAndHasTheSameBits) {
  const at::Tensor weight = randn({6, 5}), scale = randn({5}), rows = randn({7, 5}, dtype());
  int calls = 0;
  const InputOp op{[&](const at::Tensor& x) {
                     ++calls;
                     return rms_norm(x, {scale, 1e-6, 1.0});
                   },
                   {}};
  const auto run = [&](bool is_op) {
    const Linear linear(weight.clone().requires_grad_(), {}, dtype());
    const at::Tensor x = rows.clone().requires_grad_();
    const at::Tensor y = is_op ? linear.forward(x, op) : linear.forward(op.rows(x));
    const int calls_before = calls;
    weighted_total({y}).backward();
    EXPECT_EQ(calls - calls_before, is_op ? 1 : 0);
    return std::vector<at::Tensor>{y.detach(), x.grad(), linear.weight().grad()};
  };
  const auto kept = run(false), made_again = run(true);
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(kept[i], made_again[i])) << i;
}

TEST_P(OpsTest, AWeightGetsItsValuesBeforeTheFirstProduct) {
  const at::Tensor weight = at::empty({6, 5}), x = randn({3, 5}, dtype());
  Linear linear = Linear::without_values(weight, {}, dtype());
  EXPECT_ANY_THROW(linear.product(x));
  weight.copy_(randn({6, 5}));
  linear.repack();
  EXPECT_TRUE(at::equal(linear.product(x), Linear(weight, {}, dtype()).product(x)));
}

TEST_P(OpsTest, AFrozenWeightThatNobodyElseReadsIsThereOnce) {
  const at::Tensor weight = randn({37, 50}, dtype()), bias = randn({37}, dtype());
  const at::Tensor x = randn({9, 50}, dtype()), grad = randn({9, 37}, dtype());
  const Linear plain(weight, bias, dtype());
  Linear owner = Linear::without_values(weight.clone(), bias, dtype(), /*owns_weight=*/true);
  owner.repack();
  EXPECT_EQ(owner.weight().storage().nbytes(), 0u);
  owner.repack();
  EXPECT_TRUE(at::equal(owner.values(), weight));
  EXPECT_TRUE(at::equal(owner.product(x), plain.product(x)));
  EXPECT_TRUE(at::equal(owner.backward(grad, x), plain.backward(grad, x)));
  const at::Tensor trained = randn({37, 50}).requires_grad_();
  Linear master = Linear::without_values(trained, {}, dtype(), /*owns_weight=*/true);
  master.repack();
  EXPECT_TRUE(at::equal(master.values(), trained.detach())) << "a master is changed by every update";
  const Linear rounded(trained.detach().to(dtype()), {}, dtype());
  EXPECT_TRUE(at::equal(master.backward(grad, x), rounded.backward(grad, x)));
}

TEST_P(OpsTest, RmsNorm) {
  for (const double offset : {0.0, 1.0}) {
    compare({randn({300, 53}), randn({53})}, {false, true}, [&](const auto& in, at::ScalarType) {
      return std::vector<at::Tensor>{rms_norm(in[0], {in[1], 1e-6, offset})};
    });
  }
}

TEST_P(OpsTest, GatedActivation) {
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    compare({randn({70, 2 * 37}) * 2}, {false}, [&](const auto& in, at::ScalarType) {
      return std::vector<at::Tensor>{gated_activation(in[0], activation)};
    });
  }
}

TEST_P(OpsTest, MixtureOfExperts) {
  for (const bool normalised : {false, true}) {
    const auto inputs = moe_inputs(41);
    std::vector<bool> masters(inputs.size(), true);
    masters[0] = false;
    compare(inputs, masters, [&](const auto& in, at::ScalarType compute) {
      return std::vector<at::Tensor>{moe_on(in, compute, normalised)};
    });
  }
}

TEST(Moe, ChoosesTheLikeliestExpertsAndTheLowerIdOnTies) {
  const at::NoGradGuard no_grad;
  // Experts that multiply by 1, 10, 100: gate 20 (silu(20) = 20 to rounding), up x / 20.
  std::vector<at::Tensor> in{at::tensor({1.0f, 2.0f}).view({1, 2}), at::zeros({3, 2})};
  for (const double factor : {1.0, 10.0, 100.0}) {
    in.push_back(at::tensor({20.0f, 0.0f, 0.0f, 10.0f, 0.05f, 0.0f, 0.0f, 0.05f}).view({4, 2}));
    in.push_back(at::eye(2) * factor);
  }
  // All logits 0: experts 0 and 1, each with weight 1/3, or 1/2 where normalised.
  EXPECT_LT(largest_difference(moe_on(in, at::kFloat, false), at::tensor({11.0 / 3, 22.0 / 3})), 1e-5);
  EXPECT_LT(largest_difference(moe_on(in, at::kFloat, true), at::tensor({5.5, 11.0})), 1e-5);
  in[1][2][0].fill_(50.0f);  // expert 2 surely, then 0 by its id
  EXPECT_LT(largest_difference(moe_on(in, at::kFloat, false), at::tensor({100.0, 200.0})), 1e-3);
}

TEST(Moe, BalanceLossIsThatOfEachSequence) {
  at::manual_seed(3);
  const auto inputs = moe_inputs(9);
  // By hand: sum over sequences of weight * E * sum_e (choices / rows) * mean probability.
  const at::Tensor x = inputs[0].to(at::kDouble);
  const at::Tensor router_weight = leaf(inputs[1].to(at::kDouble));
  const at::Tensor p = at::matmul(x, router_weight.t()).softmax(-1);
  const at::Tensor chosen = at::zeros_like(p).scatter(1, std::get<1>(p.topk(2, -1)), 1.0);
  const auto part = [&](int64_t begin, int64_t end, double weight) {
    return (chosen.slice(0, begin, end).mean(0) * p.slice(0, begin, end).mean(0)).sum() * (5.0 * weight);
  };
  const at::Tensor expected = part(0, 3, 0.25) + part(3, 9, 0.75);
  expected.backward();

  const at::Tensor own_router = leaf(inputs[1]);
  std::vector<Expert> experts;
  for (int e = 0; e < 5; ++e) {
    experts.push_back(
        {Linear(at::zeros({24, 16}), {}, at::kFloat), Linear(at::zeros({16, 12}), {}, at::kFloat)});
  }
  const Linear router(own_router, {}, at::kFloat);
  RouterBalance balance{{{0, 3, 0.25}, {3, 9, 0.75}}};
  moe(inputs[0], router, experts, {.num_experts_per_tok = 2}, &balance).sum().backward();
  // Nine rows of probabilities, each from 24 products.
  const double bound = rounding_bound(9 * 24);
  EXPECT_NEAR(balance.loss, expected.item<double>(), bound * expected.item<double>());
  EXPECT_LT(largest_difference(own_router.grad(), router_weight.grad()),
            bound * router_weight.grad().abs().max().item<double>());
}

TEST_P(OpsTest, QkvHeads) {
  const RopeTable table = make_rope_table(at::pow(10000.0, -at::arange(0, 12, 1.0) / 12.0), 64);
  const at::Tensor positions = at::randint(0, 64, {150}, at::kLong);
  const QkvShape shape{4, 2, 24};
  for (const bool with_norm : {false, true}) {
    std::vector<at::Tensor> inputs{randn({150, 8 * 24})};
    if (with_norm) inputs.insert(inputs.end(), {randn({24}), randn({24})});
    compare(inputs, {false, true, true}, [&](const auto& in, at::ScalarType compute) {
      const RopeTable rope =
          compute == at::kDouble ? RopeTable{table.cos.to(at::kDouble), table.sin.to(at::kDouble)} : table;
      const auto norm = [&](size_t i) { return RmsNorm{with_norm ? in[i] : at::Tensor(), 1e-6, 0.5}; };
      const QkvHeads heads = qkv_heads(in[0], shape, norm(1), norm(2), rope, positions);
      return std::vector<at::Tensor>{heads.q, heads.k, heads.v};
    });
  }
}

/// A prompt of 70 rows and two completions that share it, with the rows out of order, and a lone sequence.
AttentionPlan shared_prompt_plan() {
  AttentionPlan plan;
  plan.begin_group();
  plan.add_sequence(10, 70, 0, {{10, 80}});
  plan.add_sequence(80, 40, 70, {{10, 80}, {80, 120}});
  plan.add_sequence(0, 10, 70, {{10, 80}, {0, 10}});
  plan.begin_group();
  plan.add_sequence(120, 5, 0, {{120, 125}});
  return plan;
}

TEST_P(OpsTest, Attention) {
  const AttentionPlan plan = shared_prompt_plan();
  for (const int64_t dim : {8, 48, 64, 80, 128}) {
    const double scale = 1.0 / std::sqrt(dim);
    for (const AttentionOptions& options : {AttentionOptions{scale},
                                            {scale, 1},
                                            {scale, 7},
                                            {scale, 64},
                                            {scale, 75},
                                            {scale, 0, 1.5},
                                            {scale, 20, 0.7}}) {
      compare({randn({125, 6, dim}), randn({125, 2, dim}), randn({125, 2, dim})}, {false, false, false},
              [&](const auto& in, at::ScalarType) {
                return std::vector<at::Tensor>{attend(in[0], in[1], in[2], plan, options)};
              });
    }
  }
}

// Its backward is cut into four parts a head.
TEST_P(OpsTest, AttentionOfOneLongGroup) {
  AttentionPlan plan;
  plan.begin_group();
  plan.add_sequence(0, 150, 0, {{0, 150}});
  plan.add_sequence(150, 100, 150, {{0, 150}, {150, 250}});
  plan.add_sequence(250, 130, 150, {{0, 150}, {250, 380}});
  const AttentionOptions options{.scale = 0.2};
  compare({randn({380, 4, 24}), randn({380, 2, 24}), randn({380, 2, 24})}, {false, false, false},
          [&](const auto& in, at::ScalarType) {
            return std::vector<at::Tensor>{attend(in[0], in[1], in[2], plan, options)};
          });
  const std::vector<at::Tensor> rows{randn({380, 4, 24}), randn({380, 2, 24}), randn({380, 2, 24})};
  const auto gradients = [&](int count) {
    at::set_num_threads(count);
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& each : rows) leaves.push_back(each.to(dtype()).requires_grad_());
    weighted_total({attend(leaves[0], leaves[1], leaves[2], plan, options)}).backward();
    return std::vector<at::Tensor>{leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
  };
  const int threads = at::get_num_threads();
  const std::vector<at::Tensor> alone = gradients(1);
  for (const int count : {2, 5}) {
    const std::vector<at::Tensor> together = gradients(count);
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(at::equal(alone[i], together[i])) << count;
  }
  at::set_num_threads(threads);
}

TEST_P(OpsTest, TokenLogprobs) {
  TokenTargets targets;
  for (int i = 0; i < 33; ++i) targets.token_ids.push_back(i * 3 % 101);
  const std::vector<int32_t> kept{0, 3, 6, 9, 50, 100};
  for (const auto& [filtered, softcap] : {std::pair{false, 0.0}, {true, 0.0}, {false, 3.0}, {true, 3.0}}) {
    targets.kept_ids.assign(filtered ? 33 : 0, nullptr);
    if (filtered) targets.kept_ids[2] = targets.kept_ids[3] = &kept;
    for (const char* outputs : {"logprobs", "entropies", "both"}) {
      // Coarse values, so that bfloat16 logits are exact and only the kernel is compared.
      compare({randn({33, 24}).mul(2).round() / 2, randn({101, 24}).mul(2).round() / 4}, {false, true},
              [&](const auto& in, at::ScalarType compute) {
                auto* head = new Linear(in[1], at::Tensor(), compute);
                const TokenLogprobs all = token_logprobs(in[0], *head, targets, {0.7, softcap});
                if (*outputs == 'b') return std::vector<at::Tensor>{all.logprobs, all.entropies};
                return std::vector<at::Tensor>{*outputs == 'l' ? all.logprobs : all.entropies};
              });
    }
  }
}

// The logits of the last chunk are kept for the backward, those of the others made again.
TEST_P(OpsTest, TokenLogprobsInChunks) {
  constexpr int kRows = 4200, kVocabulary = 37;
  ASSERT_EQ(logit_rows_at_once(kVocabulary), 2048);
  TokenTargets targets;
  for (int i = 0; i < kRows; ++i) targets.token_ids.push_back(i * 3 % kVocabulary);
  for (const double temperature : {1.0, 0.7}) {
    compare({randn({kRows, 8}).mul(2).round() / 2, randn({kVocabulary, 8}).mul(2).round() / 4}, {false, true},
            [&](const auto& in, at::ScalarType compute) {
              auto* head = new Linear(in[1], at::Tensor(), compute);
              const TokenLogprobs all = token_logprobs(in[0], *head, targets, {temperature, 0.0});
              return std::vector<at::Tensor>{all.logprobs, all.entropies};
            });
  }
}

TEST_P(OpsTest, TokenLogprobsOfNoRows) {
  const Linear head(randn({37, 8}).requires_grad_(), at::Tensor(), dtype());
  const at::Tensor hidden = at::empty({0, 8}, dtype()).requires_grad_();
  const TokenTargets targets;
  const TokenLogprobs none = token_logprobs(hidden, head, targets, {});
  EXPECT_EQ(none.logprobs.sizes(), at::IntArrayRef({0}));
  (none.logprobs.sum() + none.entropies.sum()).backward();
  EXPECT_EQ(hidden.grad().sizes(), hidden.sizes());
}

TEST_P(OpsTest, EntropyOfUniformAndSharpRows) {
  const at::NoGradGuard no_grad;
  Linear head(at::eye(40), at::Tensor(), dtype());
  const TokenTargets targets{{1, 2}, {}};
  at::Tensor hidden = at::zeros({2, 40});
  hidden[1][2] = 64.0;
  const at::Tensor entropies = token_logprobs(hidden.to(dtype()), head, targets, {}).entropies;
  EXPECT_NEAR(entropies[0].item<float>(), std::log(40.0), 1e-6);
  EXPECT_NEAR(entropies[1].item<float>(), 0.0, 1e-6);
}

TEST_P(OpsTest, LinearOfANormOrAnActivationHasTheBitsOfBothApart) {
  const at::Tensor scale = randn({74}).requires_grad_(), rows = randn({170, 74}, dtype());
  for (const InputOp& op : {gated_input(Activation::kSilu), gated_input(Activation::kGeluTanh),
                            normed_input({scale, 1e-6, 0.5})}) {
    const at::Tensor weight = randn({6, op.rows(rows).size(1)});
    const auto run = [&](bool is_op) {
      const Linear linear(weight.clone().requires_grad_(), {}, dtype());
      const at::Tensor x = rows.clone().requires_grad_();
      scale.mutable_grad() = at::zeros_like(scale);
      const at::Tensor y = is_op ? linear.forward(x, op) : linear.forward(op.rows(x));
      weighted_total({y}).backward();
      return std::vector<at::Tensor>{y.detach(), x.grad(), linear.weight().grad(), scale.grad().clone()};
    };
    const auto apart = run(false), together = run(true);
    for (size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(at::equal(apart[i], together[i])) << i;
  }
}

TEST_P(OpsTest, AProductAddsToItsResidual) {
  const Linear linear(randn({24, 20}).requires_grad_(), randn({24}).requires_grad_(), dtype());
  const at::Tensor norm = randn({20}).requires_grad_(), weights = randn({7, 24}, dtype()),
                   source = randn({7, 20}, dtype()), residual = randn({7, 24}, dtype());
  const InputOp op = normed_input({norm, 1e-5});
  const auto gradients_of = [&](const at::Tensor& y, const std::vector<at::Tensor>& leaves) {
    for (at::Tensor leaf : leaves) leaf.mutable_grad() = at::Tensor();
    (y * weights).sum().backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad().clone());
    return gradients;
  };
  const at::Tensor x = source.detach().requires_grad_(), added = residual.clone().requires_grad_();
  const std::vector<at::Tensor> leaves{x, added, linear.weight(), linear.bias(), norm};
  const at::Tensor apart = linear.forward(x, op) + added, together = linear.forward(x, op, {}, added);
  EXPECT_TRUE(at::equal(together, apart));
  EXPECT_TRUE(at::equal(added, residual)) << "the residual itself was written to";
  const std::vector<at::Tensor> expected = gradients_of(apart, leaves),
                                actual = gradients_of(together, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << "leaf " << i;
  // A result that is known has been summed up.
  const at::Tensor known = randn({7, 24}, dtype());
  const at::Tensor taken = linear.forward(x, op, {}, added, known);
  EXPECT_TRUE(at::equal(taken, known));
  const std::vector<at::Tensor> through = gradients_of(taken, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) EXPECT_TRUE(at::equal(through[i], expected[i])) << "leaf " << i;
}

INSTANTIATE_TEST_SUITE_P(Precisions, OpsTest,
                         testing::Values(Precision{at::kFloat, 2e-5}, Precision{at::kBFloat16, 1e-2}),
                         [](const auto& info) {
                           return info.param.dtype == at::kFloat ? "float32" : "bfloat16";
                         });

}  // namespace
}  // namespace cohort
