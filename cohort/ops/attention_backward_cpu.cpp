// Gradients of attention: probabilities are made again from the log-sum-exp of the forward, tile by tile.
#include <tuple>

#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

/// Rows of inputs one after the other and by sums (key_blocks.h), which is the same where a step is one row.
/// Rows are filled up with zeros to a whole step.
template <typename T>
class BothOrders {
 public:
  using Input = InputOf<T>;

  BothOrders(int64_t num_rows, int64_t width)
      : width_(width),
        rows_((num_rows + kStep - 1) / kStep * kStep * width),
        by_sums_(rows_.size() * (kStep - 1)) {}

  Input* row(int64_t r) { return rows_.data() + r * width_; }

  /// Makes rows [first, end) by sums; `first` begins a step.
  void pack(int64_t first, int64_t end) {
    if constexpr (kStep > 1) {
      for (int64_t r = first; r < end; r += kStep)
        interleave(row(r), row(r + 1), width_, by_sums_.data() + r * width_);
    }
  }

  /// From row `first` on, which begins a step.
  const Input* by_sums(int64_t first) const {
    return (kStep == 1 ? rows_ : by_sums_).data() + first * width_;
  }

 private:
  static constexpr int64_t kStep = Products<T>::kStep;
  int64_t width_;
  std::vector<Input> rows_, by_sums_;
};

template <typename T>
struct BackwardScratch {
  explicit BackwardScratch(const AttentionShape& shape)
      : padded(padded_head_dim(shape.head_dim)),
        max_rows(kQueryBlock * shape.num_heads / shape.num_kv_heads),
        keys(padded),
        keys_to_add(padded),
        values(padded),
        queries(max_rows, padded),
        grad_out(max_rows, padded),
        probabilities(max_rows, kTile),
        grad_scores(max_rows, kTile),
        grad_q(max_rows * padded),
        added(kRowsAtOnce * padded),
        deltas(max_rows) {}

  int64_t padded, max_rows;
  Tile tile;
  PackedTile<T> keys, keys_to_add, values;  // by dots, the second one by sums
  BothOrders<T> queries, grad_out;
  BothOrders<T> probabilities, grad_scores;  // [rows, kTile] of the tile
  std::vector<float> grad_q, added, deltas;
};

template <typename T>
COHORT_INLINE float dot(const T* a, const T* b, int64_t count) {
  Vec total{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) total += simd::load(a + i) * simd::load(b + i);
  if (i < count) total += simd::load_part(a + i, count - i) * simd::load_part(b + i, count - i);
  return simd::sum(total);
}

/// Dot products of a row with the keys, and of its output's gradient with the values -> probabilities and
/// gradients of the scores.
template <typename T>
COHORT_INLINE void backward_scores(float* scores, float* grads, int64_t scored, float log_sum_exp,
                                   float delta, Visible visible, const AttentionShape& shape,
                                   InputOf<T>* probabilities, InputOf<T>* grad_scores) {
  const bool is_capped = shape.softcap > 0.0f;
  if (is_capped) cap_scores(scores, scored, shape);
  const float score_scale = is_capped ? 1.0f : shape.scale;
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec score = simd::load(scores + j) * score_scale;
    const Vec p = simd::exp(score - log_sum_exp);
    Vec slope = simd::broadcast(shape.scale);
    if (is_capped) slope *= 1.0f - (score / shape.softcap) * (score / shape.softcap);
    Products<T>::store(probabilities + j, p);
    Products<T>::store(grad_scores + j, p * (simd::load(grads + j) - delta) * slope);
  }
  const auto hide = [&](int64_t begin, int64_t end) {
    std::fill(probabilities + begin, probabilities + end, InputOf<T>(0.0f));
    std::fill(grad_scores + begin, grad_scores + end, InputOf<T>(0.0f));
  };
  hide(0, visible.begin);
  hide(visible.end, kTile);
}

/// The transpose of kRows columns of weights [steps, kTile], in steps, times as many rows by sums -> `out`
/// [kRows, P].
template <typename T, int kRows>
void transposed_product(const InputOf<T>* weights, const InputOf<T>* rows, int64_t steps, int64_t padded,
                        float* out) {
  constexpr int64_t kStep = Products<T>::kStep;
  by_registers(padded / kLanes, [&](auto registers, int64_t first) __attribute__((always_inline)) {
    constexpr int kColumns = decltype(registers)::value;
    const InputOf<T>* columns[kColumns];
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) columns[c] = rows + (first + c) * kLanes * kStep;
    Vec sums[kRows][kColumns] = {};
    add_steps<T>(sums, weights, kStep, kTile * kStep, columns, padded * kStep, steps);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) simd::store(out + r * padded + (first + c) * kLanes, sums[r][c]);
    }
  });
}

/// The gradient of each key or value of the tile += its weights times `rows` by sums.
template <typename T>
COHORT_INLINE void add_key_gradients(const Block& block, const AttentionShape& shape, BackwardScratch<T>& s,
                                     const InputOf<T>* weights, const InputOf<T>* rows, int64_t steps,
                                     float* grad) {
  by_rows(0, s.tile.count, [&](auto count, int64_t j) __attribute__((always_inline)) {
    constexpr int kRows = decltype(count)::value;
    transposed_product<T, kRows>(weights + j * Products<T>::kStep, rows, steps, s.padded, s.added.data());
    for (int r = 0; r < kRows; ++r) {
      const float* added = s.added.data() + r * s.padded;
      float* target = grad + (s.tile.rows[j + r] * shape.num_kv_heads + block.head) * block.dim;
      for (int64_t d = 0; d < block.dim; ++d) target[d] += added[d];
    }
  });
}

/// Probabilities and score gradients of rows [first, end) over the tile in `s`, which starts at key `begin`.
template <typename T>
COHORT_INLINE void backward_rows(const Block& block, int64_t begin, int64_t first, int64_t end,
                                 const AttentionShape& shape, const float* log_sum_exp,
                                 BackwardScratch<T>& s) {
  const int64_t num_blocks = s.tile.num_blocks();
  by_rows(first, end, [&](auto count, int64_t r) __attribute__((always_inline)) {
    constexpr int kRows = decltype(count)::value;
    float scores[kRows * kTile], grads[kRows * kTile];
    dot_rows<T, kRows>(s.queries.row(r), s.padded, s.keys.blocks, num_blocks, scores);
    dot_rows<T, kRows>(s.grad_out.row(r), s.padded, s.values.blocks, num_blocks, grads);
    for (int q = 0; q < kRows; ++q) {
      backward_scores<T>(scores + q * kTile, grads + q * kTile, num_blocks * kKeyBlock,
                         log_sum_exp[block.source(r + q)], s.deltas[r + q], block.visible(r + q, begin),
                         shape, s.probabilities.row(r + q), s.grad_scores.row(r + q));
    }
  });
}

template <typename T>
COHORT_INLINE void backward_block(const AttentionPlan& plan, const AttentionShape& shape,
                                  const WorkItem& item, const T* q, const T* k, const T* v, const T* out,
                                  const float* log_sum_exp, const T* grad_out, T* grad_q, float* grad_k,
                                  float* grad_v, BackwardScratch<T>& s) {
  constexpr int64_t kStep = Products<T>::kStep;
  const Block block(plan, shape, item);
  const int64_t padded = block.padded, whole = (block.num_rows + kStep - 1) / kStep * kStep;
  for (const auto& [rows, heads] : {std::pair(&s.queries, q), {&s.grad_out, grad_out}}) {
    block.load_rows(heads, rows->row(0));
    std::fill(rows->row(block.num_rows), rows->row(whole), InputOf<T>(0.0f));
    rows->pack(0, whole);
  }
  std::fill_n(s.grad_q.begin(), block.num_rows * padded, 0.0f);
  for (int64_t r = 0; r < block.num_rows; ++r) {
    const int64_t source = block.source(r) * block.dim;
    s.deltas[r] = dot(grad_out + source, out + source, block.dim);
  }

  KeyRows walk(plan, block.sequence, block.first_tile());
  for (int64_t begin = block.first_tile(); begin < block.num_keys; begin += kTile) {
    s.tile.take(walk, block.num_keys - begin);
    const int64_t num_blocks = s.tile.num_blocks();
    const T* found[kTile];
    s.tile.find(k, shape, item.head, found);
    s.keys.pack_by_dots(found, num_blocks, block.dim);
    s.keys_to_add.pack_by_sums(found, num_blocks, block.dim);
    s.tile.find(v, shape, item.head, found);
    s.values.pack_by_dots(found, num_blocks, block.dim);
    const int64_t first = block.first_row_behind(begin), end = block.end_row(begin);
    backward_rows(block, begin, first, end, shape, log_sum_exp, s);
    by_rows(first, end, [&](auto count, int64_t r) __attribute__((always_inline)) {
      add_weighted<T, decltype(count)::value>(s.grad_scores.row(r), s.keys_to_add.blocks, s.tile.count,
                                              padded, nullptr, s.grad_q.data() + r * padded);
    });
    // Keys add up whole steps of rows, of which those beside [first, end) do not see the tile.
    const int64_t first_step = first / kStep * kStep, steps = (end + kStep - 1) / kStep - first / kStep;
    for (const auto& [weights, rows, grad] :
         {std::tuple(&s.probabilities, &s.grad_out, grad_v), {&s.grad_scores, &s.queries, grad_k}}) {
      std::fill(weights->row(first_step), weights->row(first), InputOf<T>(0.0f));
      std::fill(weights->row(end), weights->row(first_step + steps * kStep), InputOf<T>(0.0f));
      weights->pack(first_step, end);
      add_key_gradients(block, shape, s, weights->by_sums(first_step), rows->by_sums(first_step), steps,
                        grad);
    }
  }
  for (int64_t r = 0; r < block.num_rows; ++r)
    store_head(s.grad_q.data() + r * padded, 1.0f, block.dim, grad_q + block.source(r) * block.dim);
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
    BackwardScratch<T> scratch(shape);
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
