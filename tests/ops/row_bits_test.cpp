// A row has the same bits whatever stands beside it, on any number of threads and in any pages.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "cohort/ops/attention.h"
#include "cohort/ops/gated_activation.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/rms_norm.h"
#include "cohort/ops/token_logprobs.h"
#include "tests/ops/ops_case.h"

namespace cohort {
namespace {

TEST_P(OpsTest, RowsHaveTheSameBitsInAnyCompanyAndOnAnyThreads) {
  const at::NoGradGuard no_grad;
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{64, 48}, {8, 33}, {100, 1000}, {576, 192}}) {
    const Linear linear(randn({out, in}), randn({out}), dtype());
    const at::Tensor x = randn({130, in}, dtype());
    const at::Tensor norm = randn({in});
    const at::Tensor all = linear.forward(x), normed = rms_norm(x, {norm, 1e-5});
    const at::Tensor silu = gated_activation(x, Activation::kSilu),
                     gelu = gated_activation(x, Activation::kGeluTanh), capped = scaled_logits(x, {0.7, 2.0});
    const int threads = at::get_num_threads();
    for (const int count : {1, 2, 3, 5, 8}) {
      at::set_num_threads(count);
      for (const int64_t rows : {1, 2, 3, 7, 16, 17, 64, 100}) {
        for (const int64_t first : {0, 5, 29}) {
          const at::Tensor part = x.narrow(0, first, rows).clone();
          ASSERT_TRUE(at::equal(linear.forward(part), all.narrow(0, first, rows))) << rows << " " << count;
          ASSERT_TRUE(at::equal(rms_norm(part, {norm, 1e-5}), normed.narrow(0, first, rows)));
          ASSERT_TRUE(at::equal(gated_activation(part, Activation::kSilu), silu.narrow(0, first, rows)));
          ASSERT_TRUE(at::equal(gated_activation(part, Activation::kGeluTanh), gelu.narrow(0, first, rows)));
          ASSERT_TRUE(at::equal(scaled_logits(part, {0.7, 2.0}), capped.narrow(0, first, rows)));
        }
      }
    }
    at::set_num_threads(threads);
  }
}

/// A copy of `values` that begins `shift` elements into its buffer.
at::Tensor shifted(const at::Tensor& values, int64_t shift) {
  const at::Tensor room = at::empty({values.numel() + shift}, values.options());
  return room.narrow(0, shift, values.numel()).copy_(values.flatten()).view(values.sizes());
}

TEST_P(OpsTest, GradientsOfALinearHaveTheSameBitsOnAnyThreadsAndAtAnyAddress) {
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{64, 48}, {128, 384}, {300, 257}, {384, 1000}}) {
    const at::Tensor weight = randn({out, in}), x = randn({700, in}, dtype()),
                     grad = randn({700, out}, dtype());
    const auto gradients = [&](int count, int64_t shift) {
      at::set_num_threads(count);
      const at::Tensor trained = leaf(weight);
      const Linear linear(trained, {}, dtype());
      const at::Tensor of_x = linear.backward(shifted(grad, shift), shifted(x, shift));
      return std::pair(of_x, trained.grad());
    };
    const int threads = at::get_num_threads();
    const auto [of_x, of_weight] = gradients(1, 0);
    for (const int count : {1, 2, 3, 5, 8}) {
      for (const int64_t shift : {0, 1, 5, 32}) {
        const auto [also_of_x, also_of_weight] = gradients(count, shift);
        EXPECT_TRUE(at::equal(of_x, also_of_x)) << in << " x " << out << " on " << count << " at " << shift;
        EXPECT_TRUE(at::equal(of_weight, also_of_weight))
            << in << " x " << out << " on " << count << " at " << shift;
      }
    }
    at::set_num_threads(threads);
  }
}

TEST_P(OpsTest, ExpertsGiveARowTheSameBitsInAnyCompany) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> inputs = moe_inputs(90);
  inputs[1] = randn({5, 16});
  const at::Tensor x = inputs[0].to(dtype());
  inputs[0] = x;
  const at::Tensor all = moe_on(inputs, dtype(), true);
  const int threads = at::get_num_threads();
  for (const int count : {1, 2, 5}) {
    at::set_num_threads(count);
    for (const int64_t rows : {1, 2, 3, 17, 60}) {
      inputs[0] = x.narrow(0, 7, rows).clone();
      ASSERT_TRUE(at::equal(moe_on(inputs, dtype(), true), all.narrow(0, 7, rows))) << rows << " " << count;
    }
  }
  at::set_num_threads(threads);
}

/// Pages that other sequences left: what nobody may read is not a number.
at::Tensor other_pages(int64_t num_pages, int64_t num_kv_heads, int64_t head_dim, at::ScalarType dtype) {
  return make_pages(num_pages, num_kv_heads, head_dim, at::TensorOptions(dtype)).fill_(NAN);
}

TEST_P(OpsTest, AttentionHasTheSameBitsFromScatteredPages) {
  const at::NoGradGuard no_grad;
  constexpr int64_t kKeys = 201, kPage = 16;
  const at::Tensor q = randn({kKeys, 6, 32}, dtype()), k = randn({kKeys, 2, 32}, dtype()),
                   v = randn({kKeys, 2, 32}, dtype());
  AttentionPlan packed;
  packed.add_sequence(0, kKeys, 0, {{0, kKeys}});

  const at::Tensor order = at::randperm(20, at::kLong);
  at::Tensor cache_k = randn({20 * kPage, 2, 32}, dtype()), cache_v = randn({20 * kPage, 2, 32}, dtype());
  const at::Tensor key_pages = other_pages(20, 2, 32, dtype()), value_pages = other_pages(20, 2, 32, dtype());
  std::vector<RowRange> pages;
  for (int64_t begin = 0; begin < kKeys; begin += kPage) {
    const int64_t count = std::min(kPage, kKeys - begin), slot = order[begin / kPage].item<int64_t>() * kPage;
    cache_k.narrow(0, slot, count).copy_(k.narrow(0, begin, count));
    cache_v.narrow(0, slot, count).copy_(v.narrow(0, begin, count));
    for (const auto& [from, rows] :
         {std::pair<int64_t, int64_t>{0, std::min<int64_t>(count, 3)}, {3, count - 3}}) {
      write_pages(at::arange(slot + from, slot + from + rows), k.narrow(0, begin + from, rows),
                  v.narrow(0, begin + from, rows), key_pages, value_pages);
    }
    pages.push_back({slot, slot + kPage});
  }
  for (const AttentionOptions& options : {AttentionOptions{0.2}, {0.2, 30}, {0.2, 64}, {0.2, 100, 1.5}}) {
    const at::Tensor expected = attend(q, k, v, packed, options);
    for (const int64_t count : {1, 2, 5, 70}) {
      for (const int64_t first : {0, 15, 63, 64, 131}) {
        AttentionPlan decode;
        decode.add_sequence(0, count, first, pages);
        const at::Tensor queries = q.narrow(0, first, count).clone();
        for (const at::Tensor& out : {attend(queries, cache_k, cache_v, decode, options),
                                      attend_pages(queries, key_pages, value_pages, decode, options).rows})
          ASSERT_TRUE(at::equal(out, expected.narrow(0, first, count))) << count << " from " << first;
      }
    }
  }
}

/// The plain attention fills up the shorter of sequences that it takes at once: with its own keys alone.
TEST_P(OpsTest, AttentionReadsNoRowThatNoSequenceNames) {
  AttentionPlan plan;
  for (const auto& [begin, length] : {std::pair<int64_t, int64_t>{2, 9}, {13, 7}}) {
    plan.begin_group();
    plan.add_sequence(begin, length, 0, {{begin, begin + length}});
  }
  const at::Tensor unnamed = at::tensor({0, 1, 11, 12, 20}, at::kLong);
  for (const at::ScalarType dtype : {dtype(), at::kDouble}) {
    const at::Tensor q = randn({21, 4, 16}, dtype);
    const at::Tensor k = randn({21, 2, 16}, dtype), v = randn({21, 2, 16}, dtype);
    const at::Tensor expected = attend(q, k, v, plan, {.scale = 0.25});
    for (const at::Tensor& rows : {q, k, v}) rows.index_fill_(0, unnamed, NAN);
    const at::Tensor out = attend(q, k, v, plan, {.scale = 0.25});
    EXPECT_TRUE(at::equal(out.narrow(0, 2, 9), expected.narrow(0, 2, 9))) << dtype;
    EXPECT_TRUE(at::equal(out.narrow(0, 13, 7), expected.narrow(0, 13, 7))) << dtype;
  }
}

TEST_P(OpsTest, AttentionOverASharedPromptHasTheBitsOfLoneSequences) {
  const at::NoGradGuard no_grad;
  constexpr int64_t kPage = 16;
  const auto cache = [&](int64_t rows) { return randn({2, rows, 32}, dtype()).transpose(0, 1); };
  const at::Tensor q = randn({24, 6, 32}, dtype()), k = cache(200 * kPage), v = cache(200 * kPage);
  const at::Tensor key_pages = other_pages(200, 2, 32, dtype()),
                   value_pages = other_pages(200, 2, 32, dtype());
  write_pages(at::arange(200 * kPage), k, v, key_pages, value_pages);
  // Two prompts of 9 and 4 whole pages, completions of other lengths; positions before, at and behind the
  // ends of tiles.
  const std::vector<int64_t> positions{150, 149, 200, 144, 127, 128, 191, 192,
                                       150, 63,  64,  65,  80,  100, 62,  5};
  std::vector<std::vector<RowRange>> pages;
  int64_t next = 20;
  for (size_t i = 0; i < positions.size(); ++i) {
    pages.emplace_back();
    for (int64_t page = 0; page * kPage <= positions[i]; ++page) {
      const bool is_first = i < 9, is_shared = page < (is_first ? 9 : 4);
      const int64_t slot = is_shared ? (is_first ? page : 10 + page) : next++;
      pages.back().push_back({slot * kPage, (slot + 1) * kPage});
    }
  }
  const int threads = at::get_num_threads();
  for (const AttentionOptions& options : {AttentionOptions{0.2}, {0.2, 30}, {0.2, 70, 1.5}, {0.2, 0, 1.5}}) {
    AttentionPlan together;
    for (size_t i = 0; i < positions.size(); ++i) together.add_sequence(i, 1, positions[i], pages[i]);
    for (const int count : {1, 2, 5}) {
      at::set_num_threads(count);
      const at::Tensor all = attend(q, k, v, together, options);
      ASSERT_TRUE(at::equal(attend_pages(q, key_pages, value_pages, together, options).rows, all));
      for (size_t i = 0; i < positions.size(); ++i) {
        AttentionPlan alone;
        alone.add_sequence(0, 1, positions[i], pages[i]);
        const at::Tensor out = attend(q.narrow(0, i, 1).clone(), k, v, alone, options);
        ASSERT_TRUE(at::equal(out[0], all[i])) << "sequence " << i << ", threads " << count;
      }
    }
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace cohort
