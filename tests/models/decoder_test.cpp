// Which matrices a pass multiplies, by how many rows, and that a pass whose results are read in part makes
// the same of them.
#include "cohort/models/decoder.h"

#include <gtest/gtest.h>

#include "cohort/models/decoder_layer.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

TEST(LayerProducts, AreTheMatricesOfAllLayers) {
  for (const char* architecture : kArchitectures) {
    const auto decoder = tiny_decoder(tiny_config(architecture), at::kFloat);
    int64_t expected = 0, elements = 0;
    for (const auto& [name, weight] : decoder->named_weights()) {
      if (name.starts_with("model.layers.") && weight.dim() == 2) expected += weight.numel();
    }
    for (const LayerProduct& product : decoder->layer_products())
      elements += product.linear->weight().numel();
    EXPECT_EQ(elements, expected) << architecture;
  }
}

TEST(LayerProducts, OfTheLastLayerMultiplyResultsOnly) {
  for (const char* architecture : {"LlamaForCausalLM", "MixtralForCausalLM"}) {
    const auto decoder = tiny_decoder(tiny_config(architecture), at::kFloat);
    int64_t multiplied = 0, elements = 0;
    for (const LayerProduct& product : decoder->layer_products()) {
      multiplied += product.rows(1000, 0) > 0 ? product.linear->weight().numel() : 0;
      elements += product.linear->weight().numel();
    }
    EXPECT_EQ(multiplied, elements / 2 + 48 * (48 + 2 * 24))
        << architecture << ": one of two layers, and q, k, v";
  }
}

TEST(LayerProducts, EveryRowGoesToAsManyExpertsAsItChooses) {
  const auto decoder = tiny_decoder(tiny_config("Qwen3MoeForCausalLM"), at::kFloat);
  for (const int64_t rows : {1, 2, 7, 64}) {
    int64_t products = 0, idle = 0;
    for (const LayerProduct& product : decoder->layer_products()) {
      products += product.rows(rows, rows) * product.linear->weight().numel();
      idle += product.rows(rows, rows) == 0;
    }
    // 4 query and 2 + 2 key and value heads of 16, the output, a router of 5, two experts of 2 x 40 and 40.
    EXPECT_EQ(products, 2 * rows * 48 * (8 * 16 + 4 * 16 + 5 + 2 * 3 * 40)) << rows;
    EXPECT_EQ(idle, rows == 1 ? 2 * 2 * 3 : rows == 2 ? 2 * 2 : 0) << "one row has two of five experts";
  }
}

struct Pass {
  at::Tensor rows;
  std::vector<at::Tensor> gradients;
};

/// A prompt of 20 tokens with completions of 5 and 30, and a sequence of 12: their results at `rows`, and the
/// gradients of a weighted sum of these. `reads_all`: of a pass that gives all results.
Pass pass_of(const Decoder& decoder, const std::vector<RowRange>& rows, bool reads_all, bool recompute,
             RouterBalance* balance = nullptr) {
  DecoderInput input;
  std::vector<int64_t> token_ids, positions;
  for (int64_t i = 0; i < 67; ++i) {
    token_ids.push_back(i * 37 % 300);
    positions.push_back(i < 25 ? i : i < 55 ? i - 5 : i - 55);
  }
  input.set_rows(token_ids, positions, at::kCPU);
  input.plan.begin_group();
  input.plan.add_sequence(0, 20, 0, {{0, 20}});
  input.plan.add_sequence(20, 5, 20, {{0, 20}, {20, 25}});
  input.plan.add_sequence(25, 30, 20, {{0, 20}, {25, 55}});
  input.plan.begin_group();
  input.plan.add_sequence(55, 12, 0, {{55, 67}});
  input.recompute = recompute;
  input.balance = balance;
  if (!reads_all) input.set_result_rows(rows);
  for (at::Tensor parameter : decoder.parameters()) parameter.mutable_grad() = at::Tensor();
  const at::Tensor all = decoder.forward(input), read = reads_all ? rows_in(all, rows) : all;
  Pass pass{read.detach().clone(), {}};
  if (!read.requires_grad()) return pass;
  const at::Tensor weights = at::arange(read.numel()).mul(7919).remainder(201).sub(100).div(100);
  (read * weights.view(read.sizes()).to(read.scalar_type())).sum().backward();
  for (const at::Tensor& parameter : decoder.parameters()) pass.gradients.push_back(parameter.grad());
  return pass;
}

const std::vector<std::vector<RowRange>> kRead{{{19, 55}, {66, 67}}, {{0, 67}}, {{3, 4}, {24, 25}, {40, 60}}};

TEST(ResultRows, HaveTheBitsOfAWholePass) {
  for (const char* architecture : kArchitectures) {
    for (const at::ScalarType compute : {at::kFloat, at::kBFloat16}) {
      const auto decoder = tiny_decoder(tiny_config(architecture), compute);
      const at::NoGradGuard no_grad;
      for (const std::vector<RowRange>& rows : kRead)
        EXPECT_TRUE(
            at::equal(pass_of(*decoder, rows, false, false).rows, pass_of(*decoder, rows, true, false).rows))
            << architecture;
      EXPECT_EQ(pass_of(*decoder, {}, false, false).rows.sizes(), (std::vector<int64_t>{0, 48}))
          << architecture;
    }
  }
}

void expect_gradients(const Pass& actual, const Pass& expected, double tolerance) {
  ASSERT_FALSE(expected.gradients.empty());
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    const at::Tensor &a = actual.gradients[i], &b = expected.gradients[i];
    ASSERT_EQ(a.defined(), b.defined()) << "leaf " << i;
    if (!b.defined()) continue;
    EXPECT_LE((a - b).abs().max().item<double>(), tolerance * b.abs().max().item<double>()) << "leaf " << i;
  }
}

TEST(ResultRows, HaveTheGradientsOfAWholePass) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    for (const at::ScalarType compute : {at::kDouble, at::kFloat}) {
      const auto decoder = tiny_decoder(tiny_config(architecture), compute);
      const double tolerance = compute == at::kDouble ? 1e-12 : 1e-5;
      for (const std::vector<RowRange>& rows : kRead) {
        const Pass whole = pass_of(*decoder, rows, true, false);
        for (const bool recompute : {false, true})
          expect_gradients(pass_of(*decoder, rows, false, recompute), whole, tolerance);
      }
    }
  }
}

TEST(ResultRows, AreAllThatTheLastLayerMakes) {
  for (const char* architecture : kArchitectures) {
    const auto decoder = tiny_decoder(tiny_config(architecture), at::kFloat);
    {
      // Of a sequence that nobody reads: not finite behind the embedding, nor in the gradients of whoever
      // multiplies it.
      const at::NoGradGuard no_grad;
      decoder->named_weights().front().second.select(0, 60 * 37 % 300).fill_(NAN);
    }
    const auto is_last_down_finite = [&](bool reads_all) {
      const Pass pass = pass_of(*decoder, {{19, 55}}, reads_all, false);
      bool is_finite = true;
      for (const auto& [name, weight] : decoder->named_weights()) {
        if (!name.starts_with("model.layers.1.")) continue;
        if (!name.ends_with("down_proj.weight") && !name.ends_with("w2.weight")) continue;
        for (size_t i = 0; i < pass.gradients.size(); ++i) {
          if (decoder->parameters()[i].const_data_ptr() == weight.const_data_ptr() &&
              pass.gradients[i].defined())
            is_finite &= pass.gradients[i].isfinite().all().item<bool>();
        }
      }
      return is_finite;
    };
    EXPECT_TRUE(is_last_down_finite(false)) << architecture;
    EXPECT_FALSE(is_last_down_finite(true)) << architecture;
  }
}

TEST(ResultRows, LeaveTheBalanceOfExpertsToAllRows) {
  const auto decoder = tiny_decoder(tiny_config("Qwen3MoeForCausalLM"), at::kFloat);
  RouterBalance whole{.sequences = {{0, 25, 0.5}, {55, 67, 2.0}}}, part = whole;
  const Pass expected = pass_of(*decoder, kRead[0], true, false, &whole),
             actual = pass_of(*decoder, kRead[0], false, false, &part);
  EXPECT_GT(whole.loss, 0.0);
  EXPECT_EQ(part.loss, whole.loss);
  expect_gradients(actual, expected, 1e-5);
}

}  // namespace
}  // namespace cohort
