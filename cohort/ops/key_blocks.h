// Keys and values as the products of attention read them, and these products. Compiled once per instruction
// set, like the kernels.
//
// A block holds kKeyBlock rows of one head, of P elements each (head_dim rounded up to 16 with zeros), in
// steps of as many elements as one instruction multiplies and adds:
//   by dots [P / step, kKeyBlock, step], for dot products with all its rows side by side;
//   by sums [kKeyBlock / step, P, step], for weighted sums of its rows.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cohort/ops/attention_kernel.h"
#if defined(__AMX_BF16__)
#include "cohort/ops/key_blocks_amx.h"
#endif
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int64_t kTile = 64;                       // keys that are scored at a time, by logical position
constexpr int64_t kTileBlocks = kTile / kKeyBlock;  // of them
constexpr int kRegisters = kLanes == 16 ? 4 : 2;    // registers of columns whose sums stay in registers

/// How products with elements of T are added up in float32: from float32 inputs, one at a time.
template <typename T>
struct Products {
  using Input = float;
  using Values = Vec;
  static constexpr int64_t kStep = 1;
  static constexpr int64_t kKeyStep = kStep;  // keys that a weighted sum takes at once
  static constexpr int kRowsAtOnce = 6;       // rows whose sums are in work side by side
  struct Unit {};                             // what a thread holds while it multiplies

  template <typename C>
  COHORT_INLINE Values load(const C* p) {
    return simd::load(p);
  }
  COHORT_INLINE Values broadcast(const Input* p) { return simd::broadcast(*p); }
  COHORT_INLINE Vec add(Vec sum, Values a, Values b) { return sum + a * b; }
  COHORT_INLINE void store(Input* p, Vec v) { simd::store(p, v); }
};

#if defined(__AVX512BF16__)
/// From pairs of bfloat16.
template <>
struct Products<c10::BFloat16> {
  using Input = c10::BFloat16;
  using Values = simd::Pairs;
  static constexpr int64_t kStep = 2;
#if defined(__AMX_BF16__)
  static constexpr int64_t kKeyStep = kKeyBlock;
  static constexpr int kRowsAtOnce = tiles::kTileRows;
  using Unit = tiles::TileScope<tiles::TileShapes::kWithHalves>;
#else
  static constexpr int64_t kKeyStep = kStep;
  static constexpr int kRowsAtOnce = 6;
  struct Unit {};
#endif

  COHORT_INLINE Values load(const c10::BFloat16* p) { return simd::load_pairs(p); }
  COHORT_INLINE Values broadcast(const Input* p) { return simd::broadcast_pair(p); }
  COHORT_INLINE Vec add(Vec sum, Values a, Values b) { return simd::add_products(sum, a, b); }
  COHORT_INLINE void store(Input* p, Vec v) { simd::store(p, v); }
};
#endif

template <typename T>
using InputOf = typename Products<T>::Input;

/// Whether products with elements of T go through the processor's matrix unit.
template <typename T>
#if defined(__AMX_BF16__)
constexpr bool kHasUnit = std::is_same_v<T, c10::BFloat16>;
#else
constexpr bool kHasUnit = false;
#endif

/// Calls f(n, first) for the n items from `first` on, until all of [first, end) are done: kMost at a time,
/// then what is left by 3, 2 and 1, n a constant.
template <int kMost, typename F>
COHORT_INLINE void in_groups(int64_t first, int64_t end, F f) {
  for (; first + kMost <= end; first += kMost) f(std::integral_constant<int, kMost>(), first);
  if constexpr (kMost > 3) {
    for (; first + 3 <= end; first += 3) f(std::integral_constant<int, 3>(), first);
  }
  if constexpr (kMost > 2) {
    for (; first + 2 <= end; first += 2) f(std::integral_constant<int, 2>(), first);
  }
  if (first < end) f(std::integral_constant<int, 1>(), first);
}

/// A group of rows: `size` of the kRows that its buffers hold.
template <int kMost>
struct RowGroup {
  static constexpr int kRows = kMost;
  int64_t size;
};

/// Calls f(group, first row) for groups of all rows in [first, end).
template <typename T, typename F>
COHORT_INLINE void by_rows(int64_t first, int64_t end, F f) {
  constexpr int kMost = Products<T>::kRowsAtOnce;
  if constexpr (kHasUnit<T>) {
    for (; first < end; first += kMost) f(RowGroup<kMost>{std::min<int64_t>(kMost, end - first)}, first);
  } else {
    in_groups<kMost>(first, end, [&](auto count, int64_t r) __attribute__((always_inline)) {
      constexpr int kCount = decltype(count)::value;
      f(RowGroup<kCount>{kCount}, r);
    });
  }
}

template <typename F>
COHORT_INLINE void by_registers(int64_t count, F f) {
  in_groups<kRegisters>(0, count, f);
}

/// sums[r][c] += over k < steps of x[r * row_stride + k * step_stride] times columns[c][k * column_stride],
/// in the order of k.
template <typename T, int kRows, int kColumns, typename C>
COHORT_INLINE void add_steps(Vec (&sums)[kRows][kColumns], const InputOf<T>* x, int64_t row_stride,
                             int64_t step_stride, const C* const (&columns)[kColumns], int64_t column_stride,
                             int64_t steps) {
  using P = Products<T>;
  for (int64_t k = 0; k < steps; ++k) {
    typename P::Values values[kColumns];
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) values[c] = P::load(columns[c] + k * column_stride);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const auto input = P::broadcast(x + r * row_stride + k * step_stride);
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) sums[r][c] = P::add(sums[r][c], input, values[c]);
    }
  }
}

/// Dot products of a group of kRows rows with all of `num_blocks` blocks by dots -> out [kRows, kTile].
template <typename T, int kRows>
void dot_rows(const InputOf<T>* rows, int64_t padded, const T* const* blocks, int64_t num_blocks,
              float* out) {
#if defined(__AMX_BF16__)
  if constexpr (kHasUnit<T>) {
    tiles::dot_rows(rows, padded, blocks, num_blocks, out);
    return;
  }
#endif
  constexpr int64_t kStep = Products<T>::kStep;
  by_registers(num_blocks * kKeyBlock / kLanes,
               [&](auto count, int64_t first) __attribute__((always_inline)) {
                 constexpr int kColumns = decltype(count)::value;
                 const T* columns[kColumns];
#pragma GCC unroll 16
                 for (int c = 0; c < kColumns; ++c) {
                   const int64_t key = (first + c) * kLanes;
                   columns[c] = blocks[key / kKeyBlock] + key % kKeyBlock * kStep;
                 }
                 Vec sums[kRows][kColumns] = {};
                 add_steps<T>(sums, rows, padded, kStep, columns, kKeyBlock * kStep, padded / kStep);
#pragma GCC unroll 16
                 for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
                   for (int c = 0; c < kColumns; ++c)
                     simd::store(out + r * kTile + (first + c) * kLanes, sums[r][c]);
                 }
               });
}

/// sums [kRows, P] = sums * factors + weights [kRows, kTile] times the first `count` rows of blocks by sums;
/// without factors they are 1.
template <typename T, int kRows>
void add_weighted([[maybe_unused]] RowGroup<kRows> group, const InputOf<T>* weights, const T* const* blocks,
                  int64_t count, int64_t padded, const float* factors, float* sums) {
#if defined(__AMX_BF16__)
  if constexpr (kHasUnit<T>) {
    tiles::add_weighted(group.size, weights, blocks, count, padded, factors, sums);
    return;
  }
#endif
  constexpr int64_t kStep = Products<T>::kStep;
  by_registers(padded / kLanes, [&](auto registers, int64_t first) __attribute__((always_inline)) {
    constexpr int kColumns = decltype(registers)::value;
    Vec totals[kRows][kColumns];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) {
        totals[r][c] = simd::load(sums + r * padded + (first + c) * kLanes);
        if (factors != nullptr) totals[r][c] *= factors[r];
      }
    }
    for (int64_t begin = 0; begin < count; begin += kKeyBlock) {
      const T* columns[kColumns];
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c)
        columns[c] = blocks[begin / kKeyBlock] + (first + c) * kLanes * kStep;
      const int64_t steps = (std::min(kKeyBlock, count - begin) + kStep - 1) / kStep;
      add_steps<T>(totals, weights + begin, kTile, kStep, columns, padded * kStep, steps);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) simd::store(sums + r * padded + (first + c) * kLanes, totals[r][c]);
    }
  });
}

/// Rows a and b of `count` elements by turns.
inline void interleave(const c10::BFloat16* a, const c10::BFloat16* b, int64_t count, c10::BFloat16* out) {
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    simd::UintVec low, high;
    simd::interleave(*reinterpret_cast<const simd::StoredUintVec*>(a + i),
                     *reinterpret_cast<const simd::StoredUintVec*>(b + i), low, high);
    auto* to = reinterpret_cast<uint32_t*>(out + 2 * i);
    simd::store(to, low);
    simd::store(to + kLanes, high);
  }
  for (; i < count; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

/// kKeyBlock rows of `dim` elements -> a block by dots.
template <typename T>
void pack_by_dots(const T* const* rows, int64_t dim, int64_t padded, T* block) {
  constexpr int64_t kStep = Products<T>::kStep;
  int64_t done = 0;
  if constexpr (kStep * sizeof(T) == sizeof(uint32_t)) {
    for (; (done + kLanes) * kStep <= dim; done += kLanes) {
      for (int64_t row = 0; row < kKeyBlock; row += kLanes) {
        simd::UintVec square[kLanes];
        for (int64_t j = 0; j < kLanes; ++j)
          square[j] = *reinterpret_cast<const simd::StoredUintVec*>(rows[row + j] + done * kStep);
        simd::transpose(square);
        auto* to = reinterpret_cast<uint32_t*>(block) + done * kKeyBlock + row;
        for (int64_t j = 0; j < kLanes; ++j) simd::store(to + j * kKeyBlock, square[j]);
      }
    }
  }
  for (T* to = block + done * kKeyBlock * kStep; done < padded / kStep; ++done) {
    for (int64_t row = 0; row < kKeyBlock; ++row) {
      for (int64_t i = done * kStep; i < (done + 1) * kStep; ++i) *to++ = i < dim ? rows[row][i] : T(0.0f);
    }
  }
}

/// Rows [0, count), in whole steps, of `dim` elements -> by sums.
template <typename T>
void pack_by_sums(const T* const* rows, int64_t count, int64_t dim, int64_t padded, T* out) {
  constexpr int64_t kStep = Products<T>::kStep;
  for (int64_t row = 0; row < count; row += kStep, out += padded * kStep) {
    if constexpr (kStep == 1) {
      std::copy_n(rows[row], dim, out);
    } else {
      interleave(rows[row], rows[row + 1], dim, out);
    }
    std::fill(out + dim * kStep, out + padded * kStep, T(0.0f));
  }
}

}  // namespace
}  // namespace cohort::COHORT_ARCH
