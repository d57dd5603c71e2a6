// What the forward and the backward of attention share: blocks of queries, tiles of keys by logical position,
// and how work is cut. Compiled once per instruction set, like the kernels.
// Legend: P head_dim rounded up to 16, "row" a query of one head.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cohort/ops/key_blocks.h"

namespace cohort::COHORT_ARCH {
namespace {

constexpr int64_t kQueryBlock = 64;

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

/// Where the keys of a tile lie in k and v. Those behind its count repeat the first, and weigh nothing.
struct Tile {
  int64_t rows[kTile];
  int64_t count = 0;

  int64_t num_blocks() const { return (count + kKeyBlock - 1) / kKeyBlock; }

  void take(KeyRows& walk, int64_t num_keys) {
    count = std::min(kTile, num_keys);
    walk.take(count, rows);
    std::fill(rows + count, rows + kTile, rows[0]);
  }

  /// One head's rows of k or v.
  template <typename T>
  void find(const T* source, const AttentionShape& shape, int64_t head, const T* (&found)[kTile]) const {
    const T* first = source + head * shape.key_head_stride;
    for (int64_t j = 0; j < kTile; ++j) found[j] = first + rows[j] * shape.key_row_stride;
  }
};

/// The blocks of a tile, packed.
template <typename T>
class PackedTile {
 public:
  explicit PackedTile(int64_t padded) : padded_(padded), elements_(kTile * padded) {
    for (int64_t b = 0; b < kTileBlocks; ++b) blocks[b] = elements_.data() + b * kKeyBlock * padded;
  }

  void pack_by_dots(const T* const (&rows)[kTile], int64_t num_blocks, int64_t dim) {
    for (int64_t b = 0; b < num_blocks; ++b) {
      COHORT_ARCH::pack_by_dots(rows + b * kKeyBlock, dim, padded_,
                                elements_.data() + b * kKeyBlock * padded_);
    }
  }

  void pack_by_sums(const T* const (&rows)[kTile], int64_t num_blocks, int64_t dim) {
    COHORT_ARCH::pack_by_sums(rows, num_blocks * kKeyBlock, dim, padded_, elements_.data());
  }

  const T* blocks[kTileBlocks];

 private:
  int64_t padded_;
  std::vector<T> elements_;
};

/// One block of queries of one sequence and one key head.
struct WorkItem {
  int64_t sequence;
  int64_t first_query;
  int64_t head;
};

/// Which keys of a tile a row sees: [begin, end).
struct Visible {
  int64_t begin, end;
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

/// Rounds the elements of one head, times `factor`.
template <typename T>
COHORT_INLINE void store_head(const float* from, float factor, int64_t dim, T* head) {
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) simd::store(head + d, simd::load(from + d) * factor);
  if (d < dim) simd::store_part(head + d, simd::load_part(from + d, dim - d) * factor, dim - d);
}

/// A work item with what follows from it.
struct Block {
  Block(const AttentionPlan& plan, const AttentionShape& shape, const WorkItem& item)
      : sequence(plan.sequences[item.sequence]),
        head(item.head),
        repeat(shape.num_heads / shape.num_kv_heads),
        dim(shape.head_dim),
        padded(padded_head_dim(dim)),
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
