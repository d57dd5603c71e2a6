// What the forward and the backward of attention share: tiles of 64 keys by logical position, blocks of
// queries, and the two products between them. Compiled once per instruction set, like the kernels.
// Legend: D head_dim, P head_dim rounded up to 16, R query heads per key head, "row" a query of one head.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/ops/attention_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int64_t kTile = 64;
constexpr int64_t kQueryBlock = 64;

/// out[q][width] = sum over i < count of weights[q * weight_stride + i * weight_step] * row(i)[width], i
/// ascending, for kRows outputs that share the loads of the rows.
template <int kRows, int kVecs, typename RowAt>
COHORT_INLINE void weighted_sums_block(const float* weights, int64_t weight_stride, int64_t weight_step,
                                       RowAt row_at, int64_t count, float* out, int64_t out_stride) {
  Vec sums[kRows][kVecs] = {};
  for (int64_t i = 0; i < count; ++i) {
    const float* row = row_at(i);
#pragma GCC unroll 16
    for (int q = 0; q < kRows; ++q) {
      const Vec weight = simd::broadcast(weights[q * weight_stride + i * weight_step]);
#pragma GCC unroll 16
      for (int b = 0; b < kVecs; ++b) sums[q][b] += weight * simd::load(row + b * kLanes);
    }
  }
#pragma GCC unroll 16
  for (int q = 0; q < kRows; ++q) {
#pragma GCC unroll 16
    for (int b = 0; b < kVecs; ++b) simd::store(out + q * out_stride + b * kLanes, sums[q][b]);
  }
}

/// The same for any width that is a multiple of 16, by columns of as many registers as stay in the file.
template <int kRows, typename RowAt>
COHORT_INLINE void weighted_sums(const float* weights, int64_t weight_stride, int64_t weight_step,
                                 RowAt row_at, int64_t count, int64_t width, float* out, int64_t out_stride) {
  constexpr int64_t kColumns = kLanes == 16 ? 64 : 16;
  int64_t c = 0;
  for (; c + kColumns <= width; c += kColumns) {
    weighted_sums_block<kRows, kColumns / kLanes>(
        weights, weight_stride, weight_step,
        [&](int64_t i) __attribute__((always_inline)) { return row_at(i) + c; }, count, out + c, out_stride);
  }
  for (; c < width; c += 16) {
    weighted_sums_block<kRows, 16 / kLanes>(
        weights, weight_stride, weight_step,
        [&](int64_t i) __attribute__((always_inline)) { return row_at(i) + c; }, count, out + c, out_stride);
  }
}

/// Neighbouring sums of `a` and of `b`, w lanes apart, interleaved by blocks of w.
template <int w, int... i>
COHORT_INLINE Vec fold(Vec a, Vec b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / (2 * w) * (2 * w) + i % w + (i % (2 * w) < w ? 0 : kLanes))...) +
         __builtin_shufflevector(a, b,
                                 (i / (2 * w) * (2 * w) + i % w + (i % (2 * w) < w ? 0 : kLanes) + w)...);
}

/// Lane j of the result is the sum of the lanes of sums[j], in a fixed tree.
template <int w = 1>
COHORT_INLINE Vec lane_sums(const Vec* sums) {
  if constexpr (w == kLanes) {
    return sums[0];
  } else {
    constexpr int64_t kFolded = kLanes / (int64_t{2} * w);
    Vec folded[kFolded];
#pragma GCC unroll 16
    for (int64_t j = 0; j < kFolded; ++j) {
      folded[j] = fold<w>(sums[2 * j], sums[2 * j + 1], std::make_integer_sequence<int, kLanes>());
    }
    return lane_sums<2 * w>(folded);
  }
}

/// What dot products of T are made from: T itself where the processor multiplies pairs of it, else float32.
template <typename T>
using Dotted = std::conditional_t<simd::kHasPairs, T, float>;

/// Sums, over the lanes of a register, of the products of two rows.
template <int kWidth>
COHORT_INLINE Vec products(const float* a, const float* b, int64_t width) {
  Vec sum{};
#pragma GCC unroll 16
  for (int64_t d = 0; d < (kWidth > 0 ? kWidth : width); d += kLanes) {
    sum += simd::load(a + d) * simd::load(b + d);
  }
  return sum;
}

#if defined(__AVX512BF16__)
template <int kWidth>
COHORT_INLINE Vec products(const c10::BFloat16* a, const c10::BFloat16* b, int64_t width) {
  Vec sum{};
#pragma GCC unroll 16
  for (int64_t d = 0; d < (kWidth > 0 ? kWidth : width); d += 2 * kLanes) {
    sum = simd::add_products(sum, simd::load_pairs(a + d), simd::load_pairs(b + d));
  }
  return sum;
}
#endif

/// out[j] = query . keys[j] for j < end, in whole registers; rows of kWidth, or of `width` where it is 0.
template <int kWidth, typename U>
COHORT_INLINE void tile_dots_of(const U* query, const U* const* keys, int64_t end, int64_t width,
                                float* out) {
  for (int64_t first = 0; first < end; first += kLanes) {
    Vec sums[kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) sums[j] = products<kWidth>(query, keys[first + j], width);
    simd::store(out + first, lane_sums(sums));
  }
}

template <typename U>
COHORT_INLINE void tile_dots(const U* query, const U* const* keys, int64_t end, int64_t width, float* out) {
  if (width == 64) {
    tile_dots_of<64>(query, keys, end, width, out);
  } else if (width == 128) {
    tile_dots_of<128>(query, keys, end, width, out);
  } else {
    tile_dots_of<0>(query, keys, end, width, out);
  }
}

/// Dot products of a tile -> softcap * tanh(scale * product / softcap).
COHORT_INLINE void cap_scores(float* products, int64_t end, const AttentionShape& shape) {
  for (int64_t j = 0; j < end; j += kLanes) {
    simd::store(products + j,
                simd::tanh(simd::load(products + j) * (shape.scale / shape.softcap)) * shape.softcap);
  }
}

/// Walks the logical positions of a sequence's keys and yields their rows.
class KeyRows {
 public:
  /// Starts at logical position `first`.
  KeyRows(const AttentionPlan& plan, const AttentionSequence& sequence, int64_t first)
      : range_(plan.ranges.data() + sequence.range_begin) {
    while (first > 0 && first >= range_->end - range_->begin) {
      first -= range_->end - range_->begin;
      ++range_;
    }
    row_ = range_->begin + first;
  }

  /// The next `count` rows.
  void take(int64_t count, int64_t* rows) {
    while (count > 0) {
      if (row_ == range_->end) row_ = (++range_)->begin;
      const int64_t run = std::min(count, range_->end - row_);
      for (int64_t i = 0; i < run; ++i) rows[i] = row_ + i;
      rows += run;
      row_ += run;
      count -= run;
    }
  }

 private:
  const RowRange* range_;
  int64_t row_;
};

/// Copies one head of a row, padded with zeros to `padded`.
template <typename T, typename U>
COHORT_INLINE void load_head(const T* head, int64_t dim, int64_t padded, U* out) {
  int64_t d = 0;
  if constexpr (std::is_same_v<T, U>) {
    std::copy_n(head, dim, out);
    d = dim;
  } else {
    for (; d + kLanes <= dim; d += kLanes) simd::store(out + d, simd::load(head + d));
    for (; d < dim; ++d) out[d] = static_cast<float>(head[d]);
  }
  std::fill(out + d, out + padded, U(0.0f));
}

/// Where the keys of a tile lie in k and v.
struct Tile {
  int64_t rows[kTile];
  int64_t count = 0;

  void take(KeyRows& walk, int64_t num_keys) {
    count = std::min(kTile, num_keys);
    walk.take(count, rows);
  }
};

/// A tile's rows of one head as U of P elements, in place where they lie so in memory.
template <typename U>
struct HeadRows {
  explicit HeadRows(int64_t padded) : copies(kTile * padded) {}

  template <typename T>
  __attribute__((always_inline)) void gather(const Tile& tile, const T* source, const AttentionShape& shape,
                                             int64_t head, int64_t padded) {
    for (int64_t j = 0; j < tile.count; ++j) {
      const T* row = source + tile.rows[j] * shape.key_row_stride + head * shape.key_head_stride;
      if constexpr (std::is_same_v<T, U>) {
        if (padded == shape.head_dim) {
          rows[j] = row;
          continue;
        }
      }
      load_head(row, shape.head_dim, padded, copies.data() + j * padded);
      rows[j] = copies.data() + j * padded;
    }
    std::fill(rows + tile.count, rows + kTile, rows[0]);
  }

  void prefetch(const Tile& tile, int64_t padded) const {
    for (int64_t j = 0; j < tile.count; ++j)
      for (int64_t d = 0; d < padded; d += 16) __builtin_prefetch(rows[j] + d);
  }

  const U* rows[kTile];  // those behind the tile's count repeat the first, and weigh nothing
  std::vector<U> copies;
};

/// One block of queries of one sequence and one key head.
struct WorkItem {
  int64_t sequence;
  int64_t first_query;
  int64_t head;
};

/// Which keys of a tile a row sees: [begin, end). Scores are made for whole registers.
struct Visible {
  int64_t begin, end;
  int64_t registers_end() const { return (end + kLanes - 1) / kLanes * kLanes; }
};

/// A work item with what follows from it.
struct Block {
  Block(const AttentionPlan& plan, const AttentionShape& shape, const WorkItem& item)
      : sequence(plan.sequences[item.sequence]),
        head(item.head),
        repeat(shape.num_heads / shape.num_kv_heads),
        dim(shape.head_dim),
        padded(simd::round_up(dim)),
        num_heads(shape.num_heads),
        num_queries(std::min(kQueryBlock, sequence.num_queries - item.first_query)),
        num_rows(num_queries * repeat),
        first_row(sequence.query_begin + item.first_query),
        first_position(sequence.first_position + item.first_query),
        num_keys(first_position + num_queries),
        window(shape.window > 0 ? shape.window : num_keys) {}

  /// Where row r lies in [N, num_heads].
  int64_t source(int64_t r) const {
    return (first_row + r / repeat) * num_heads + head * repeat + r % repeat;
  }

  /// The first row that sees the key at logical position `begin`; the later ones do, too.
  int64_t first_row_behind(int64_t begin) const {
    return std::max<int64_t>(0, begin - first_position) * repeat;
  }

  /// The end of the rows whose window reaches the tile that starts at `begin`.
  int64_t end_row(int64_t begin) const {
    return std::min(num_queries, begin + kTile - 1 + window - first_position) * repeat;
  }

  /// Where the first tile that any row sees starts.
  int64_t first_tile() const { return std::max<int64_t>(0, first_position - window + 1) / kTile * kTile; }

  /// The keys of the tile that starts at `begin` that row r sees.
  Visible visible(int64_t r, int64_t begin) const {
    const int64_t end = first_position + r / repeat + 1 - begin;
    return {std::max<int64_t>(0, end - window), std::min(kTile, end)};
  }

  template <typename T, typename U>
  void load_rows(const T* heads, U* out) const {
    for (int64_t r = 0; r < num_rows; ++r) load_head(heads + source(r) * dim, dim, padded, out + r * padded);
  }

  const AttentionSequence& sequence;
  int64_t head, repeat, dim, padded, num_heads, num_queries, num_rows;
  int64_t first_row, first_position, num_keys, window;
};

/// Calls f(begin, end) on pieces of [0, costs.size()) that cost about the same, one a thread.
template <typename F>
void parallel_by_cost(const std::vector<int64_t>& costs, F f) {
  const auto count = static_cast<int64_t>(costs.size());
  const int64_t total = std::accumulate(costs.begin(), costs.end(), int64_t{0});
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), count);
  std::vector<int64_t> cuts{0};
  int64_t cost = 0;
  for (int64_t i = 0; i < count; ++i) {
    cost += costs[i];
    const auto cut = static_cast<int64_t>(cuts.size());
    if (cut < threads && cost * threads >= cut * total) cuts.push_back(i + 1);
  }
  cuts.push_back(count);
  at::parallel_for(0, static_cast<int64_t>(cuts.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    if (cuts[begin] < cuts[end]) f(cuts[begin], cuts[end]);
  });
}

/// Multiplications of a run of queries, but for a factor.
int64_t query_cost(const AttentionSequence& sequence, int64_t first_query, int64_t count) {
  return count * (sequence.first_position + first_query + count);
}

}  // namespace
}  // namespace cohort::COHORT_ARCH
