// Online softmax over tiles of keys. A query's arithmetic is the same whatever block it is computed in:
// scores are dot products folded in one fixed tree, and an output adds the keys in their order.
#include <cmath>
#include <limits>

#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

struct ForwardScratch {
  ForwardScratch(int64_t padded, int64_t repeat)
      : tile(padded),
        queries(kQueryBlock * repeat * padded),
        outputs(queries.size()),
        added(4 * padded),
        maxima(kQueryBlock * repeat),
        sums(kQueryBlock * repeat) {}
  Tile tile;
  std::vector<float> queries, outputs, added, maxima, sums;
};

/// Scores of one row over the first `scored` keys of a tile, folded into its running maximum and sum; leaves
/// the weights of the keys, 0 where the row does not see them, and returns what the output so far is
/// multiplied with.
COHORT_INLINE float fold_scores(const Tile& tile, const float* query, Visible visible, int64_t scored,
                                const AttentionShape& shape, int64_t padded, float& maximum, float& sum,
                                float* weights) {
  tile_dots(query, tile.keys, scored, padded, weights);
  if (shape.softcap > 0.0f) cap_scores(weights, scored, shape);
  const float scale = shape.softcap > 0.0f ? 1.0f : shape.scale;
  for (int64_t j = 0; j < visible.begin; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = visible.end; j < scored; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  Vec largest = simd::broadcast(-std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec scaled = simd::load(weights + j) * scale;
    simd::store(weights + j, scaled);
    largest = simd::max(largest, scaled);
  }
  const float new_maximum = std::max(maximum, simd::max(largest));
  const float decay = simd::exp(simd::broadcast(maximum - new_maximum))[0];
  Vec total{};
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec p = simd::exp(simd::load(weights + j) - new_maximum);
    simd::store(weights + j, p);
    total += p;
  }
  maximum = new_maximum;
  sum = sum * decay + simd::sum(total);
  return decay;
}

/// kRows neighbouring rows over one tile.
template <int kRows>
COHORT_INLINE void fold_tile(const Block& block, int64_t r, int64_t begin, const AttentionShape& shape,
                             ForwardScratch& s) {
  float weights[kRows][kTile], decays[kRows];
  const Visible seen_by_last = block.visible(r + kRows - 1, begin);
  for (int q = 0; q < kRows; ++q) {
    decays[q] = fold_scores(s.tile, s.queries.data() + (r + q) * block.padded, block.visible(r + q, begin),
                            seen_by_last.registers_end(), shape, block.padded, s.maxima[r + q], s.sums[r + q],
                            weights[q]);
  }
  float* added = s.added.data();
  weighted_sums<kRows>(
      weights[0], kTile, 1, [&](int64_t j) __attribute__((always_inline)) { return s.tile.values[j]; },
      seen_by_last.end, block.padded, added, block.padded);
  for (int q = 0; q < kRows; ++q) {
    float* output = s.outputs.data() + (r + q) * block.padded;
    for (int64_t d = 0; d < block.padded; d += kLanes) {
      simd::store(output + d, simd::load(output + d) * decays[q] + simd::load(added + q * block.padded + d));
    }
  }
}

template <typename T>
COHORT_INLINE void forward_block(const AttentionPlan& plan, const AttentionShape& shape, const WorkItem& item,
                                 const T* q, const T* k, const T* v, T* out, float* log_sum_exp,
                                 ForwardScratch& s) {
  const Block block(plan, shape, item);
  block.load_rows(q, s.queries.data());
  std::fill_n(s.outputs.begin(), block.num_rows * block.padded, 0.0f);
  std::fill_n(s.maxima.begin(), block.num_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(s.sums.begin(), block.num_rows, 0.0f);

  KeyRows walk(plan, block.sequence, block.first_tile());
  for (int64_t begin = block.first_tile(); begin < block.num_keys; begin += kTile) {
    gather(s.tile, walk, block.num_keys - begin, k, v, shape, item.head, block.padded);
    const int64_t end = block.end_row(begin);
    int64_t r = block.first_row_behind(begin);
    for (; r + 4 <= end; r += 4) fold_tile<4>(block, r, begin, shape, s);
    for (; r + 2 <= end; r += 2) fold_tile<2>(block, r, begin, shape, s);
    for (; r < end; ++r) fold_tile<1>(block, r, begin, shape, s);
  }
  for (int64_t r = 0; r < block.num_rows; ++r) {
    const int64_t target = block.source(r);
    const float inverse = 1.0f / s.sums[r];
    for (int64_t d = 0; d < block.dim; ++d) {
      out[target * block.dim + d] = static_cast<T>(s.outputs[r * block.padded + d] * inverse);
    }
    if (log_sum_exp != nullptr) log_sum_exp[target] = s.maxima[r] + std::log(s.sums[r]);
  }
}

}  // namespace

template <typename T>
void attention_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                      const T* v, T* out, float* log_sum_exp) {
  std::vector<WorkItem> items;
  std::vector<int64_t> costs;
  for (int64_t i = 0; i < static_cast<int64_t>(plan.sequences.size()); ++i) {
    const AttentionSequence& sequence = plan.sequences[i];
    for (int64_t first = 0; first < sequence.num_queries; first += kQueryBlock) {
      for (int64_t head = 0; head < shape.num_kv_heads; ++head) {
        items.push_back({i, first, head});
        costs.push_back(query_cost(sequence, first, std::min(kQueryBlock, sequence.num_queries - first)));
      }
    }
  }
  parallel_by_cost(costs, [&](int64_t begin, int64_t end) {
    ForwardScratch scratch(simd::round_up(shape.head_dim), shape.num_heads / shape.num_kv_heads);
    for (int64_t i = begin; i < end; ++i) {
      forward_block(plan, shape, items[i], q, k, v, out, log_sum_exp, scratch);
    }
  });
}

template void attention_kernel<float>(const AttentionPlan&, const AttentionShape&, const float*, const float*,
                                      const float*, float*, float*);
template void attention_kernel<at::BFloat16>(const AttentionPlan&, const AttentionShape&, const at::BFloat16*,
                                             const at::BFloat16*, const at::BFloat16*, at::BFloat16*, float*);

}  // namespace cohort::COHORT_ARCH
