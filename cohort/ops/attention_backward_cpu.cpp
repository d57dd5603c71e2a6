// Gradients of attention: probabilities are made again from the log-sum-exp of the forward, tile by tile.
#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

/// A block's rows in float32 for sums, and as what dot products are made from; the same where that is
/// float32.
template <typename T>
class BothRows {
 public:
  explicit BothRows(int64_t size) : wide_(size), dotted_(kIsOne ? 0 : size) {}

  void load(const Block& block, const T* heads) {
    block.load_rows(heads, wide_.data());
    if constexpr (!kIsOne) block.load_rows(heads, dotted_.data());
  }

  const float* wide() const { return wide_.data(); }
  const Dotted<T>* dotted() const {
    if constexpr (kIsOne) {
      return wide_.data();
    } else {
      return dotted_.data();
    }
  }

 private:
  static constexpr bool kIsOne = std::is_same_v<Dotted<T>, float>;
  std::vector<float> wide_;
  std::vector<Dotted<T>> dotted_;
};

template <typename T>
struct BackwardScratch {
  BackwardScratch(int64_t padded, int64_t repeat)
      : keys(padded),
        dotted_keys(padded),
        values(padded),
        queries(kQueryBlock * repeat * padded),
        grad_out(kQueryBlock * repeat * padded),
        grad_q(kQueryBlock * repeat * padded),
        added(4 * padded),
        probabilities(kQueryBlock * repeat * kTile),
        grad_scores(probabilities.size()),
        deltas(kQueryBlock * repeat) {}

  void gather(KeyRows& walk, int64_t num_keys, const T* k, const T* v, const AttentionShape& shape,
              int64_t head, int64_t padded) {
    tile.take(walk, num_keys);
    keys.gather(tile, k, shape, head, padded);
    values.gather(tile, v, shape, head, padded);
    if constexpr (std::is_same_v<Dotted<T>, float>) {
      std::copy_n(keys.rows, kTile, dotted_keys.rows);
    } else {
      dotted_keys.gather(tile, k, shape, head, padded);
    }
  }

  Tile tile;
  HeadRows<float> keys;
  HeadRows<Dotted<T>> dotted_keys, values;
  BothRows<T> queries, grad_out;
  std::vector<float> grad_q, added, probabilities, grad_scores, deltas;
};

/// Probabilities and score gradients of one row over one tile.
template <typename U>
COHORT_INLINE void backward_scores(const HeadRows<U>& keys, const HeadRows<U>& values, const U* query,
                                   const U* grad_out, float log_sum_exp, float delta, Visible visible,
                                   const AttentionShape& shape, int64_t padded, float* probabilities,
                                   float* grad_scores) {
  const int64_t scored = visible.registers_end();
  tile_dots(query, keys.rows, scored, padded, probabilities);
  tile_dots(grad_out, values.rows, scored, padded, grad_scores);
  const bool is_capped = shape.softcap > 0.0f;
  if (is_capped) cap_scores(probabilities, scored, shape);
  const float score_scale = is_capped ? 1.0f : shape.scale;
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec score = simd::load(probabilities + j) * score_scale;
    const Vec p = simd::exp(score - log_sum_exp);
    Vec slope = simd::broadcast(shape.scale);
    if (is_capped) slope *= 1.0f - (score / shape.softcap) * (score / shape.softcap);
    simd::store(probabilities + j, p);
    simd::store(grad_scores + j, p * (simd::load(grad_scores + j) - delta) * slope);
  }
  for (int64_t j = 0; j < visible.begin; ++j) probabilities[j] = grad_scores[j] = 0.0f;
  for (int64_t j = visible.end; j < kTile; ++j) probabilities[j] = grad_scores[j] = 0.0f;
}

/// grad_q of kRows rows from on r += their score gradients over the keys of the tile.
template <int kRows, typename T>
COHORT_INLINE void add_query_gradients(const Block& block, int64_t r, BackwardScratch<T>& s) {
  float* added = s.added.data();
  weighted_sums<kRows>(
      s.grad_scores.data() + r * kTile, kTile, 1,
      [&](int64_t j) __attribute__((always_inline)) { return s.keys.rows[j]; }, s.tile.count, block.padded,
      added, block.padded);
  float* grad = s.grad_q.data() + r * block.padded;
  for (int64_t d = 0; d < kRows * block.padded; d += kLanes) {
    simd::store(grad + d, simd::load(grad + d) + simd::load(added + d));
  }
}

/// The gradient of kKeys keys or values of the tile += weights of the rows [first, end) times `rows`.
template <int kKeys, typename T>
COHORT_INLINE void add_key_gradients(const Block& block, const AttentionShape& shape, BackwardScratch<T>& s,
                                     int64_t j, int64_t first, int64_t end, const float* weights,
                                     const float* rows, float* grad) {
  float* added = s.added.data();
  weighted_sums<kKeys>(
      weights + first * kTile + j, 1, kTile,
      [&](int64_t r) __attribute__((always_inline)) { return rows + (first + r) * block.padded; },
      end - first, block.padded, added, block.padded);
  for (int q = 0; q < kKeys; ++q) {
    float* target = grad + (s.tile.rows[j + q] * shape.num_kv_heads + block.head) * block.dim;
    for (int64_t d = 0; d < block.dim; ++d) target[d] += added[q * block.padded + d];
  }
}

template <typename T>
COHORT_INLINE void backward_block(const AttentionPlan& plan, const AttentionShape& shape,
                                  const WorkItem& item, const T* q, const T* k, const T* v, const T* out,
                                  const float* log_sum_exp, const T* grad_out, T* grad_q, float* grad_k,
                                  float* grad_v, BackwardScratch<T>& s) {
  const Block block(plan, shape, item);
  const int64_t padded = block.padded;
  s.queries.load(block, q);
  s.grad_out.load(block, grad_out);
  std::fill_n(s.grad_q.begin(), block.num_rows * padded, 0.0f);
  for (int64_t r = 0; r < block.num_rows; ++r) {
    const T* output = out + block.source(r) * block.dim;
    float delta = 0.0f;
    for (int64_t d = 0; d < block.dim; ++d)
      delta += s.grad_out.wide()[r * padded + d] * static_cast<float>(output[d]);
    s.deltas[r] = delta;
  }

  KeyRows walk(plan, block.sequence, block.first_tile());
  for (int64_t begin = block.first_tile(); begin < block.num_keys; begin += kTile) {
    s.gather(walk, block.num_keys - begin, k, v, shape, item.head, padded);
    const int64_t first = block.first_row_behind(begin), end = block.end_row(begin);
    for (int64_t r = first; r < end; ++r) {
      backward_scores(s.dotted_keys, s.values, s.queries.dotted() + r * padded,
                      s.grad_out.dotted() + r * padded, log_sum_exp[block.source(r)], s.deltas[r],
                      block.visible(r, begin), shape, padded, s.probabilities.data() + r * kTile,
                      s.grad_scores.data() + r * kTile);
    }
    int64_t r = first;
    for (; r + 4 <= end; r += 4) add_query_gradients<4>(block, r, s);
    for (; r < end; ++r) add_query_gradients<1>(block, r, s);
    const auto add_all = [&](const float* weights, const float* rows, float* grad)
                             __attribute__((always_inline)) {
                               int64_t j = 0;
                               for (; j + 4 <= s.tile.count; j += 4)
                                 add_key_gradients<4>(block, shape, s, j, first, end, weights, rows, grad);
                               for (; j < s.tile.count; ++j)
                                 add_key_gradients<1>(block, shape, s, j, first, end, weights, rows, grad);
                             };
    add_all(s.probabilities.data(), s.grad_out.wide(), grad_v);
    add_all(s.grad_scores.data(), s.queries.wide(), grad_k);
  }
  for (int64_t r = 0; r < block.num_rows; ++r) {
    T* target = grad_q + block.source(r) * block.dim;
    for (int64_t d = 0; d < block.dim; ++d) target[d] = static_cast<T>(s.grad_q[r * padded + d]);
  }
}

}  // namespace

template <typename T>
void attention_backward_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                               const T* v, const T* out, const float* log_sum_exp, const T* grad_out,
                               T* grad_q, float* grad_k, float* grad_v) {
  const auto num_groups = static_cast<int64_t>(plan.group_begin.size());
  const auto group_end = [&](int64_t group) {
    return group + 1 < num_groups ? plan.group_begin[group + 1] : static_cast<int64_t>(plan.sequences.size());
  };
  // A group's key rows belong to one thread a head, and are added to in the order of the sequences.
  std::vector<int64_t> costs;
  for (int64_t group = 0; group < num_groups; ++group) {
    int64_t cost = 0;
    for (int64_t i = plan.group_begin[group]; i < group_end(group); ++i) {
      cost += query_cost(plan.sequences[i], 0, plan.sequences[i].num_queries);
    }
    costs.insert(costs.end(), shape.num_kv_heads, cost);
  }
  parallel_by_cost(costs, [&](int64_t begin, int64_t end) {
    BackwardScratch<T> scratch(simd::round_up(shape.head_dim), shape.num_heads / shape.num_kv_heads);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t group = unit / shape.num_kv_heads, head = unit % shape.num_kv_heads;
      for (int64_t i = plan.group_begin[group]; i < group_end(group); ++i) {
        for (int64_t first = 0; first < plan.sequences[i].num_queries; first += kQueryBlock) {
          const WorkItem item{i, first, head};
          backward_block(plan, shape, item, q, k, v, out, log_sum_exp, grad_out, grad_q, grad_k, grad_v,
                         scratch);
        }
      }
    }
  });
}

#define COHORT_INSTANTIATE(T)                                                                          \
  template void attention_backward_kernel<T>(const AttentionPlan&, const AttentionShape&, const T*,    \
                                             const T*, const T*, const T*, const float*, const T*, T*, \
                                             float*, float*);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
