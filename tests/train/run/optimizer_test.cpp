// AdamW on one process and on several, which share out masters and moments.
#include "cohort/train/run/optimizer.h"

#include <gtest/gtest.h>

#include <map>

#include "cohort/tensor/values.h"
#include "tests/dist/ranks.h"

namespace cohort {
namespace {

constexpr int64_t kOut = 300, kIn = 330;  // three blocks and a rest

/// A projection, and leaves beside it: an embedding and a norm.
struct Weights {
  explicit Weights(at::ScalarType compute)
      : weight(leaf(at::linspace(-1.0, 1.0, kOut * kIn).sin().view({kOut, kIn}))),
        embedding(leaf(at::linspace(-3.0, 2.0, 2 * dist::kBlockLength).cos().view({-1, 64}))),
        norm(leaf(at::ones({kIn}))),
        linear(weight, at::Tensor(), compute) {}

  static at::Tensor leaf(const at::Tensor& values) { return values.clone().requires_grad_(true); }

  std::vector<at::Tensor> leaves() const { return {embedding, weight, norm}; }

  at::Tensor weight, embedding, norm;
  Linear linear;
};

const OptimizerConfig kConfig{.weight_decay = 0.1, .max_grad_norm = 1.0};

/// The gradient of an update, which rank 0 has alone: sums with zeros have no rounding.
void add_gradient(const Weights& weights, int64_t update, int64_t rank) {
  for (const at::Tensor& leaf : weights.leaves()) {
    const at::Tensor whole = at::linspace(0.0, 40.0, leaf.numel()).add(static_cast<double>(update)).sin();
    if (rank == 0) leaf.mutable_grad().copy_(whole.view(leaf.sizes()));
  }
}

/// What is left of a few updates.
struct Result {
  std::vector<double> norms;
  at::Tensor embedding, norm, values, master;
  std::map<std::string, at::Tensor> moments;
};

void update(Weights& weights, AdamW& optimizer, dist::Group& group, int64_t first, int64_t last,
            Result& result) {
  for (int64_t i = first; i < last; ++i) {
    optimizer.zero_grad();
    add_gradient(weights, i, group.rank());
    result.norms.push_back(optimizer.grad_norm());
    optimizer.step(1e-2, result.norms.back());
    weights.linear.repack();
  }
}

void look(const Weights& weights, const AdamW& optimizer, Result& result) {
  result.embedding = weights.embedding.detach().clone();
  result.norm = weights.norm.detach().clone();
  result.values = weights.linear.values().to(weights.linear.compute_dtype());
  result.master = has_values(weights.weight) ? weights.weight.detach().clone() : at::Tensor();
  optimizer.read_masters([&](const at::Tensor& leaf) { result.master = leaf.detach().clone(); });
  optimizer.read_moments(
      [&](const std::string& name, const at::Tensor& values) { result.moments[name] = values.clone(); });
}

void expect_same(const Result& result, const Result& expected) {
  EXPECT_EQ(result.norms, expected.norms);
  EXPECT_TRUE(result.embedding.equal(expected.embedding));
  EXPECT_TRUE(result.norm.equal(expected.norm));
  EXPECT_TRUE(result.values.equal(expected.values));
  EXPECT_TRUE(result.master.equal(expected.master));
  ASSERT_EQ(result.moments.size(), 6u);
  for (const auto& [name, moment] : expected.moments)
    EXPECT_TRUE(result.moments.at(name).equal(moment)) << name;
}

class AdamWTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(AdamWTest, AnyNumberOfProcessesMakesTheSameUpdates) {
  Weights whole(GetParam());
  AdamW optimizer(whole.leaves(), kConfig);
  Result expected;
  update(whole, optimizer, dist::alone(), 0, 3, expected);
  look(whole, optimizer, expected);
  for (const int64_t size : {2, 3, 4}) {
    dist::for_each_rank(size, [&](dist::Group& group) {
      Weights own(GetParam());
      AdamW shared(own.leaves(), kConfig, group, {nullptr, &own.linear, nullptr});
      EXPECT_FALSE(has_values(own.weight));
      Result result;
      update(own, shared, group, 0, 3, result);
      look(own, shared, result);
      EXPECT_FALSE(has_values(own.weight));
      expect_same(result, expected);
    });
  }
}

TEST_P(AdamWTest, WhatOneProcessLeavesOthersGoOnWith) {
  Weights whole(GetParam());
  AdamW optimizer(whole.leaves(), kConfig);
  Result before, expected;
  update(whole, optimizer, dist::alone(), 0, 2, before);
  look(whole, optimizer, before);
  update(whole, optimizer, dist::alone(), 2, 4, expected);
  look(whole, optimizer, expected);
  dist::for_each_rank(2, [&](dist::Group& group) {
    Weights own(GetParam());
    AdamW shared(own.leaves(), kConfig, group, {nullptr, &own.linear, nullptr});
    own.embedding.detach().copy_(before.embedding);
    own.norm.detach().copy_(before.norm);
    shared.write_masters([&](const at::Tensor& leaf) { leaf.detach().copy_(before.master); });
    shared.write_moments([&](const std::string& name) { return before.moments.at(name); });
    shared.set_num_updates(2);
    Result result;
    update(own, shared, group, 2, 4, result);
    look(own, shared, result);
    expect_same(result, expected);
  });
}

TEST(AdamWOnWholeMastersTest, MomentsAloneAreSharedOut) {
  Weights whole(at::kFloat);
  AdamW optimizer(whole.leaves(), kConfig);
  Result expected;
  update(whole, optimizer, dist::alone(), 0, 2, expected);
  look(whole, optimizer, expected);
  dist::for_each_rank(2, [&](dist::Group& group) {
    Weights own(at::kFloat);
    AdamW shared(own.leaves(), kConfig, group);
    Result result;
    update(own, shared, group, 0, 2, result);
    look(own, shared, result);
    EXPECT_TRUE(has_values(own.weight));
    expect_same(result, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Compute, AdamWTest, testing::Values(at::kFloat, at::kBFloat16));

}  // namespace
}  // namespace cohort
