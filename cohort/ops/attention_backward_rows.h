// Queries and gradients of outputs, as the backward of attention multiplies them and adds them to the
// gradients of keys and values. Compiled once per instruction set. Legend as in attention_tile.h.
#pragma once

#include <vector>

#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

/// Rows of inputs one after the other and by sums (key_blocks.h), which is the same where a step is one row.
/// The caller fills rows up with zeros to a whole kDepth.
template <typename T>
class BothOrders {
 public:
  using Input = InputOf<T>;

  /// Rows that are summed up at once.
  static constexpr int64_t kDepth = kHasUnit<T> ? 32 : Products<T>::kStep;
  static int64_t whole(int64_t num_rows) { return (num_rows + kDepth - 1) / kDepth * kDepth; }

  BothOrders(int64_t num_rows, int64_t width)
      : width_(width),
        // The last group reads as many rows as it may hold.
        rows_((whole(num_rows) + Products<T>::kRowsAtOnce) * width),
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

/// The queries of a block, or the gradients of their outputs: as rows, and as the gradients of keys and
/// values add them up.
template <typename T>
class QueryRows {
 public:
  QueryRows(int64_t num_rows, int64_t padded)
      : padded_(padded),
        rows_(num_rows, padded),
        columns_(kHasUnit<T> ? rows_.whole(num_rows) * padded : 0),
        added_(Products<T>::kRowsAtOnce * padded) {}

  void load(const Block& block, const T* heads) {
    block.load_rows(heads, rows_.row(0));
    count_ = rows_.whole(block.num_rows);
    std::fill(rows_.row(block.num_rows), rows_.row(count_), InputOf<T>(0.0f));
    rows_.pack(0, count_);
#if defined(__AMX_BF16__)
    if constexpr (kHasUnit<T>) transpose_rows();
#endif
  }

  const InputOf<T>* row(int64_t r) { return rows_.row(r); }

  /// The gradient of each key or value of the tile += its weights times rows [first, first + count), whole
  /// kDepths of them.
  void add_to(const Block& block, const Tile& tile, const AttentionShape& shape, const BothOrders<T>& weights,
              int64_t first, int64_t count, float* grad) {
    const auto target = [&](int64_t key) {
      return grad + (tile.rows[key] * shape.num_kv_heads + block.head) * block.dim;
    };
#if defined(__AMX_BF16__)
    if constexpr (kHasUnit<T>) {
      alignas(64) float added[kTile * kKeyBlock];
      for (int64_t d = 0; d < block.dim; d += kKeyBlock) {
        tiles::transposed_product(columns_.data() + d * count_ + first, count_, weights.by_sums(first), count,
                                  tile.num_blocks(), added);
        for (int64_t key = 0; key < tile.count; ++key)
          add_row(added + key * kKeyBlock, std::min(kKeyBlock, block.dim - d), target(key) + d);
      }
      return;
    }
#endif
    constexpr int64_t kStep = Products<T>::kStep;
    by_rows<T>(0, tile.count, [&](auto group, int64_t key) __attribute__((always_inline)) {
      constexpr int kRows = decltype(group)::kRows;
      transposed_product<T, kRows>(weights.by_sums(first) + key * kStep, rows_.by_sums(first), count / kStep,
                                   padded_, added_.data());
      for (int r = 0; r < kRows; ++r) add_row(added_.data() + r * padded_, block.dim, target(key + r));
    });
  }

 private:
  COHORT_INLINE void add_row(const float* added, int64_t dim, float* target) {
    for (int64_t d = 0; d < dim; ++d) target[d] += added[d];
  }

#if defined(__AMX_BF16__)
  void transpose_rows() {
    for (int64_t r = 0; r < count_; r += 2 * kLanes) {
      for (int64_t d = 0; d < padded_; d += kLanes) {
        simd::UintVec pairs[kLanes];
        const auto* from = reinterpret_cast<const uint32_t*>(rows_.by_sums(r)) + d;
        for (int64_t i = 0; i < kLanes; ++i)
          pairs[i] = *reinterpret_cast<const simd::StoredUintVec*>(from + i * padded_);
        simd::transpose(pairs);
        for (int64_t i = 0; i < kLanes; ++i)
          simd::store(reinterpret_cast<uint32_t*>(columns_.data() + (d + i) * count_ + r), pairs[i]);
      }
    }
  }
#endif

  int64_t padded_, count_ = 0;
  BothOrders<T> rows_;
  std::vector<InputOf<T>> columns_;  // [P, count_]
  std::vector<float> added_;
};

}  // namespace
}  // namespace cohort::COHORT_ARCH
