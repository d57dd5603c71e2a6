// Tiles of 64 keys are gathered into float32 scratch; every product is `weighted_sum`, a row of weights over
// a block of rows. Legend: D head_dim, P head_dim rounded up to 16, R query heads per key head.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cohort/ops/attention_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int64_t kTile = 64;
constexpr int64_t kQueryBlock = 64;

/// kVecs vectors of out = sum_i weights[i * stride] * rows[i * width + ...], i ascending.
template <int kVecs>
COHORT_INLINE void weighted_sum_block(const float* weights, int64_t stride, const float* rows, int64_t count,
                                      int64_t width, float* out) {
  Vec sums[kVecs] = {};
  for (int64_t i = 0; i < count; ++i) {
    const Vec weight = simd::broadcast(weights[i * stride]);
#pragma GCC unroll 16
    for (int b = 0; b < kVecs; ++b) sums[b] += weight * simd::load(rows + i * width + b * kLanes);
  }
#pragma GCC unroll 16
  for (int b = 0; b < kVecs; ++b) simd::store(out + b * kLanes, sums[b]);
}

/// out[width] = sum over i < count of weights[i * stride] * rows[i][width]; width a multiple of 16.
COHORT_INLINE void weighted_sum(const float* weights, int64_t stride, const float* rows, int64_t count,
                                int64_t width, float* out) {
  int64_t c = 0;
  for (; c + 64 <= width; c += 64)
    weighted_sum_block<64 / kLanes>(weights, stride, rows + c, count, width, out + c);
  for (; c + 32 <= width; c += 32)
    weighted_sum_block<32 / kLanes>(weights, stride, rows + c, count, width, out + c);
  for (; c < width; c += 16)
    weighted_sum_block<16 / kLanes>(weights, stride, rows + c, count, width, out + c);
}

/// Walks the logical positions of a sequence's keys and yields their rows.
class KeyRows {
 public:
  KeyRows(const AttentionPlan& plan, const AttentionSequence& sequence)
      : range_(plan.ranges.data() + sequence.range_begin), row_(range_->begin) {}

  int64_t next() {
    while (row_ == range_->end) row_ = (++range_)->begin;
    return row_++;
  }

 private:
  const RowRange* range_;
  int64_t row_;
};

/// Copies one head of a row, padded with zeros to `padded`.
template <typename T>
COHORT_INLINE void load_head(const T* head, int64_t dim, int64_t padded, float* out) {
  for (int64_t d = 0; d < dim; ++d) out[d] = static_cast<float>(head[d]);
  for (int64_t d = dim; d < padded; ++d) out[d] = 0.0f;
}

/// out[d][key] = rows[key][d], four by four; both dims are multiples of four.
COHORT_INLINE void transpose(const float* rows, int64_t padded, float* out) {
  typedef float Quad __attribute__((vector_size(16)));
  typedef int32_t Index __attribute__((vector_size(16)));
  const auto load_quad = [](const float* p) __attribute__((always_inline)) {
    Quad quad;
    std::memcpy(&quad, p, sizeof(quad));
    return quad;
  };
  for (int64_t j = 0; j < kTile; j += 4) {
    for (int64_t d = 0; d < padded; d += 4) {
      const float* in = rows + j * padded + d;
      const Quad a = load_quad(in), b = load_quad(in + padded), c = load_quad(in + 2 * padded),
                 e = load_quad(in + 3 * padded);
      const Index low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
      const Quad ab0 = __builtin_shuffle(a, b, low), ab1 = __builtin_shuffle(a, b, high);
      const Quad ce0 = __builtin_shuffle(c, e, low), ce1 = __builtin_shuffle(c, e, high);
      const Quad lines[4] = {__builtin_shuffle(ab0, ce0, first), __builtin_shuffle(ab0, ce0, second),
                             __builtin_shuffle(ab1, ce1, first), __builtin_shuffle(ab1, ce1, second)};
      for (int64_t i = 0; i < 4; ++i) std::memcpy(out + (d + i) * kTile + j, &lines[i], sizeof(Quad));
    }
  }
}

/// One tile of keys in scratch.
struct Tile {
  explicit Tile(int64_t padded)
      : keys(kTile * padded),
        values(kTile * padded),
        keys_t(kTile * padded),
        values_t(kTile * padded),
        rows(kTile) {}

  std::vector<float> keys, values;      // [64][P]
  std::vector<float> keys_t, values_t;  // [P][64]
  std::vector<int64_t> rows;            // of k and v
  int64_t count = 0;
};

/// out [64][P]: one head of the tile's rows of `source`, zeros behind the last.
template <typename T>
COHORT_INLINE void gather_rows(const Tile& tile, const T* source, const AttentionShape& shape, int64_t head,
                               int64_t padded, float* out) {
  for (int64_t j = 0; j < tile.count; ++j) {
    load_head(source + (tile.rows[j] * shape.num_kv_heads + head) * shape.head_dim, shape.head_dim, padded,
              out + j * padded);
  }
  std::fill_n(out + tile.count * padded, (kTile - tile.count) * padded, 0.0f);
}

template <typename T>
COHORT_INLINE void gather(Tile& tile, KeyRows& walk, int64_t num_keys, const T* k, const T* v,
                          const AttentionShape& shape, int64_t head, int64_t padded) {
  tile.count = std::min(kTile, num_keys);
  for (int64_t j = 0; j < tile.count; ++j) tile.rows[j] = walk.next();
  gather_rows(tile, k, shape, head, padded, tile.keys.data());
  gather_rows(tile, v, shape, head, padded, tile.values.data());
  transpose(tile.keys.data(), padded, tile.keys_t.data());
}

/// The queries of one block: R heads of up to kQueryBlock rows, padded, in float32.
template <typename T>
COHORT_INLINE void load_queries(const T* q, const AttentionShape& shape, int64_t first_row, int64_t count,
                                int64_t head, int64_t padded, float* out) {
  const int64_t repeat = shape.num_heads / shape.num_kv_heads;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < repeat; ++r) {
      const int64_t source = (first_row + i) * shape.num_heads + head * repeat + r;
      load_head(q + source * shape.head_dim, shape.head_dim, padded, out + (i * repeat + r) * padded);
    }
  }
}

/// One block of queries of one sequence and one key head.
struct WorkItem {
  int64_t sequence;
  int64_t first_query;
  int64_t head;
};

struct ForwardScratch {
  ForwardScratch(int64_t padded, int64_t repeat)
      : tile(padded),
        queries(kQueryBlock * repeat * padded),
        outputs(queries.size()),
        row(padded),
        maxima(kQueryBlock * repeat),
        sums(kQueryBlock * repeat) {}
  Tile tile;
  std::vector<float> queries, outputs, row, maxima, sums;
};

/// Folds one tile into a query's running maximum, sum and output; `valid` keys of the tile are visible.
COHORT_INLINE void fold_tile(const Tile& tile, const float* query, int64_t valid, float scale, int64_t dim,
                             int64_t padded, float& maximum, float& sum, float* output, float* row) {
  float scores[kTile];
  weighted_sum(query, 1, tile.keys_t.data(), dim, kTile, scores);
  for (int64_t j = 0; j < kTile; ++j) {
    scores[j] = j < valid ? scores[j] * scale : -std::numeric_limits<float>::infinity();
  }
  Vec largest = simd::load(scores);
  for (int64_t j = kLanes; j < kTile; j += kLanes) largest = simd::max(largest, simd::load(scores + j));
  const float new_maximum = std::max(maximum, simd::max(largest));
  const float decay = simd::exp(simd::broadcast(maximum - new_maximum))[0];
  Vec total{};
  for (int64_t j = 0; j < kTile; j += kLanes) {
    const Vec p = simd::exp(simd::load(scores + j) - new_maximum);
    simd::store(scores + j, p);
    total += p;
  }
  maximum = new_maximum;
  sum = sum * decay + simd::sum(total);
  weighted_sum(scores, 1, tile.values.data(), valid, padded, row);
  for (int64_t d = 0; d < padded; ++d) output[d] = output[d] * decay + row[d];
}

template <typename T>
COHORT_INLINE void forward_item(const AttentionPlan& plan, const AttentionShape& shape, const WorkItem& item,
                                const T* q, const T* k, const T* v, T* out, float* log_sum_exp,
                                ForwardScratch& s) {
  const AttentionSequence& sequence = plan.sequences[item.sequence];
  const int64_t dim = shape.head_dim, padded = simd::round_up(dim),
                repeat = shape.num_heads / shape.num_kv_heads;
  const int64_t count = std::min(kQueryBlock, sequence.num_queries - item.first_query);
  const int64_t first_row = sequence.query_begin + item.first_query;
  const int64_t first_position = sequence.first_position + item.first_query;
  load_queries(q, shape, first_row, count, item.head, padded, s.queries.data());
  std::fill_n(s.outputs.begin(), count * repeat * padded, 0.0f);
  std::fill_n(s.maxima.begin(), count * repeat, -std::numeric_limits<float>::infinity());
  std::fill_n(s.sums.begin(), count * repeat, 0.0f);

  KeyRows walk(plan, sequence);
  const int64_t num_keys = first_position + count;
  for (int64_t begin = 0; begin < num_keys; begin += kTile) {
    gather(s.tile, walk, num_keys - begin, k, v, shape, item.head, padded);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t valid = std::min(kTile, first_position + i + 1 - begin);
      if (valid <= 0) continue;
      for (int64_t r = i * repeat; r < (i + 1) * repeat; ++r) {
        fold_tile(s.tile, s.queries.data() + r * padded, valid, shape.scale, dim, padded, s.maxima[r],
                  s.sums[r], s.outputs.data() + r * padded, s.row.data());
      }
    }
  }
  for (int64_t r = 0; r < count * repeat; ++r) {
    const int64_t target = (first_row + r / repeat) * shape.num_heads + item.head * repeat + r % repeat;
    const float inverse = 1.0f / s.sums[r];
    for (int64_t d = 0; d < dim; ++d)
      out[target * dim + d] = static_cast<T>(s.outputs[r * padded + d] * inverse);
    if (log_sum_exp != nullptr) log_sum_exp[target] = s.maxima[r] + std::log(s.sums[r]);
  }
}

struct BackwardScratch {
  BackwardScratch(int64_t padded, int64_t repeat)
      : tile(padded),
        queries(kQueryBlock * repeat * padded),
        grad_out(queries.size()),
        grad_q(queries.size()),
        probabilities(kQueryBlock * repeat * kTile),
        grad_scores(probabilities.size()),
        deltas(kQueryBlock * repeat),
        row(padded) {}
  Tile tile;
  std::vector<float> queries, grad_out, grad_q, probabilities, grad_scores, deltas, row;
};

/// Probabilities and score gradients of one query over one tile.
COHORT_INLINE void backward_scores(const Tile& tile, const float* query, const float* grad_out,
                                   float log_sum_exp, float delta, int64_t valid, float scale, int64_t dim,
                                   float* probabilities, float* grad_scores) {
  weighted_sum(query, 1, tile.keys_t.data(), dim, kTile, probabilities);
  weighted_sum(grad_out, 1, tile.values_t.data(), dim, kTile, grad_scores);
  for (int64_t j = 0; j < kTile; j += kLanes) {
    const Vec p = simd::exp(simd::load(probabilities + j) * scale - log_sum_exp);
    simd::store(probabilities + j, p);
    simd::store(grad_scores + j, p * (simd::load(grad_scores + j) - delta) * scale);
  }
  for (int64_t j = std::max<int64_t>(valid, 0); j < kTile; ++j) probabilities[j] = grad_scores[j] = 0.0f;
}

template <typename T>
COHORT_INLINE void backward_block(const AttentionPlan& plan, const AttentionShape& shape,
                                  const WorkItem& item, const T* q, const T* k, const T* v, const T* out,
                                  const float* log_sum_exp, const T* grad_out, T* grad_q, float* grad_k,
                                  float* grad_v, BackwardScratch& s) {
  const AttentionSequence& sequence = plan.sequences[item.sequence];
  const int64_t dim = shape.head_dim, padded = simd::round_up(dim),
                repeat = shape.num_heads / shape.num_kv_heads;
  const int64_t count = std::min(kQueryBlock, sequence.num_queries - item.first_query), rows = count * repeat;
  const int64_t first_row = sequence.query_begin + item.first_query;
  const int64_t first_position = sequence.first_position + item.first_query;
  const auto target = [&](int64_t r) {
    return (first_row + r / repeat) * shape.num_heads + item.head * repeat + r % repeat;
  };
  load_queries(q, shape, first_row, count, item.head, padded, s.queries.data());
  load_queries(grad_out, shape, first_row, count, item.head, padded, s.grad_out.data());
  std::fill_n(s.grad_q.begin(), rows * padded, 0.0f);
  for (int64_t r = 0; r < rows; ++r) {
    float delta = 0.0f;
    for (int64_t d = 0; d < dim; ++d) {
      delta += s.grad_out[r * padded + d] * static_cast<float>(out[target(r) * dim + d]);
    }
    s.deltas[r] = delta;
  }

  KeyRows walk(plan, sequence);
  const int64_t num_keys = first_position + count;
  for (int64_t begin = 0; begin < num_keys; begin += kTile) {
    gather(s.tile, walk, num_keys - begin, k, v, shape, item.head, padded);
    transpose(s.tile.values.data(), padded, s.tile.values_t.data());
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t valid = std::min(kTile, first_position + r / repeat + 1 - begin);
      backward_scores(s.tile, s.queries.data() + r * padded, s.grad_out.data() + r * padded,
                      log_sum_exp[target(r)], s.deltas[r], valid, shape.scale, dim,
                      s.probabilities.data() + r * kTile, s.grad_scores.data() + r * kTile);
      weighted_sum(s.grad_scores.data() + r * kTile, 1, s.tile.keys.data(), s.tile.count, padded,
                   s.row.data());
      for (int64_t d = 0; d < padded; ++d) s.grad_q[r * padded + d] += s.row[d];
    }
    for (int64_t j = 0; j < s.tile.count; ++j) {
      const int64_t offset = (s.tile.rows[j] * shape.num_kv_heads + item.head) * dim;
      weighted_sum(s.probabilities.data() + j, kTile, s.grad_out.data(), rows, padded, s.row.data());
      for (int64_t d = 0; d < dim; ++d) grad_v[offset + d] += s.row[d];
      weighted_sum(s.grad_scores.data() + j, kTile, s.queries.data(), rows, padded, s.row.data());
      for (int64_t d = 0; d < dim; ++d) grad_k[offset + d] += s.row[d];
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t d = 0; d < dim; ++d) grad_q[target(r) * dim + d] = static_cast<T>(s.grad_q[r * padded + d]);
  }
}

}  // namespace

template <typename T>
void attention_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                      const T* v, T* out, float* log_sum_exp) {
  std::vector<WorkItem> items;
  for (int64_t i = 0; i < static_cast<int64_t>(plan.sequences.size()); ++i) {
    for (int64_t first = 0; first < plan.sequences[i].num_queries; first += kQueryBlock) {
      for (int64_t head = 0; head < shape.num_kv_heads; ++head) items.push_back({i, first, head});
    }
  }
  at::parallel_for(0, static_cast<int64_t>(items.size()), 1, [&](int64_t begin, int64_t end) {
    ForwardScratch scratch(simd::round_up(shape.head_dim), shape.num_heads / shape.num_kv_heads);
    for (int64_t i = begin; i < end; ++i) {
      forward_item(plan, shape, items[i], q, k, v, out, log_sum_exp, scratch);
    }
  });
}

template <typename T>
void attention_backward_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                               const T* v, const T* out, const float* log_sum_exp, const T* grad_out,
                               T* grad_q, float* grad_k, float* grad_v) {
  const auto num_groups = static_cast<int64_t>(plan.group_begin.size());
  // A group's key rows belong to one thread a head, and are added to in the order of the sequences.
  at::parallel_for(0, num_groups * shape.num_kv_heads, 1, [&](int64_t begin, int64_t end) {
    BackwardScratch scratch(simd::round_up(shape.head_dim), shape.num_heads / shape.num_kv_heads);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t group = unit / shape.num_kv_heads, head = unit % shape.num_kv_heads;
      const int64_t last =
          group + 1 < num_groups ? plan.group_begin[group + 1] : static_cast<int64_t>(plan.sequences.size());
      for (int64_t i = plan.group_begin[group]; i < last; ++i) {
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
  template void attention_kernel<T>(const AttentionPlan&, const AttentionShape&, const T*, const T*,   \
                                    const T*, T*, float*);                                             \
  template void attention_backward_kernel<T>(const AttentionPlan&, const AttentionShape&, const T*,    \
                                             const T*, const T*, const T*, const float*, const T*, T*, \
                                             float*, float*);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
