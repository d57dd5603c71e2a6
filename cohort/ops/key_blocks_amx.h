// The products of key_blocks.h by the processor's matrix unit: of up to 16 rows at a time. Sums over the
// elements of a head go in chunks of 32, sums over keys in chunks of 16, for a block of keys may be a page.
#pragma once

#include <algorithm>

#include "cohort/ops/amx_tiles.h"
#include "cohort/ops/attention_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH::tiles {
namespace {

using c10::BFloat16;

static_assert(kKeyBlock == kTileColumns);
constexpr int64_t kKeys = 4 * kKeyBlock;  // of a tile of keys (key_blocks.h)

/// Loads, multiplies and adds one block of keys: tile `sums` += tile `rows` x what lies at `from`.
#define COHORT_MULTIPLY_BLOCK(sums, rows, with, from, stride) \
  {                                                           \
    _tile_loadd(with, from, stride);                          \
    _tile_dpbf16ps(sums, rows, with);                         \
  }

/// Dot products of 16 rows with `num_blocks` blocks by dots -> out [16, kKeys].
inline void dot_rows(const BFloat16* rows, int64_t padded, const BFloat16* const* blocks, int64_t num_blocks,
                     float* out) {
  constexpr int64_t kBlockBytes = kKeyBlock * 2 * sizeof(BFloat16), kOutBytes = kKeys * sizeof(float);
  const int64_t row_bytes = padded * static_cast<int64_t>(sizeof(BFloat16));
  settle();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  int64_t d = 0;
  for (; d + kTileDepth <= padded; d += kTileDepth) {
    _tile_loadd(4, rows + d, row_bytes);
    const int64_t at = d * kKeyBlock;
    COHORT_MULTIPLY_BLOCK(0, 4, 6, blocks[0] + at, kBlockBytes)
    if (num_blocks > 1) COHORT_MULTIPLY_BLOCK(1, 4, 6, blocks[1] + at, kBlockBytes)
    if (num_blocks > 2) COHORT_MULTIPLY_BLOCK(2, 4, 6, blocks[2] + at, kBlockBytes)
    if (num_blocks > 3) COHORT_MULTIPLY_BLOCK(3, 4, 6, blocks[3] + at, kBlockBytes)
  }
  if (d < padded) {
    _tile_loadd(5, rows + d, row_bytes);
    const int64_t at = d * kKeyBlock;
    COHORT_MULTIPLY_BLOCK(0, 5, 7, blocks[0] + at, kBlockBytes)
    if (num_blocks > 1) COHORT_MULTIPLY_BLOCK(1, 5, 7, blocks[1] + at, kBlockBytes)
    if (num_blocks > 2) COHORT_MULTIPLY_BLOCK(2, 5, 7, blocks[2] + at, kBlockBytes)
    if (num_blocks > 3) COHORT_MULTIPLY_BLOCK(3, 5, 7, blocks[3] + at, kBlockBytes)
  }
  _tile_stored(0, out, kOutBytes);
  _tile_stored(1, out + kKeyBlock, kOutBytes);
  _tile_stored(2, out + 2 * kKeyBlock, kOutBytes);
  _tile_stored(3, out + 3 * kKeyBlock, kOutBytes);
  settle();
}

/// totals [16, 64] += weights [16, kKeys] times the first `num_blocks` blocks by sums, whose elements `first`
/// to `first` + 16 * columns are taken.
inline void add_weighted_columns(const BFloat16* weights, const BFloat16* const* blocks, int64_t num_blocks,
                                 int64_t padded, int64_t first, int64_t columns, float* totals) {
  constexpr int64_t kWeightBytes = kKeys * sizeof(BFloat16), kTotalBytes = 64 * sizeof(float);
  constexpr int64_t kPairs = 2 * kTileColumns;
  const int64_t pair_bytes = padded * 2 * static_cast<int64_t>(sizeof(BFloat16));
  settle();
  _tile_loadd(0, totals, kTotalBytes);
  _tile_loadd(1, totals + 16, kTotalBytes);
  _tile_loadd(2, totals + 32, kTotalBytes);
  _tile_loadd(3, totals + 48, kTotalBytes);
  for (int64_t b = 0; b < num_blocks; ++b) {
    _tile_loadd(5, weights + b * kKeyBlock, kWeightBytes);
    const BFloat16* values = blocks[b] + first * 2;
    COHORT_MULTIPLY_BLOCK(0, 5, 7, values, pair_bytes)
    if (columns > 1) COHORT_MULTIPLY_BLOCK(1, 5, 7, values + kPairs, pair_bytes)
    if (columns > 2) COHORT_MULTIPLY_BLOCK(2, 5, 7, values + 2 * kPairs, pair_bytes)
    if (columns > 3) COHORT_MULTIPLY_BLOCK(3, 5, 7, values + 3 * kPairs, pair_bytes)
  }
  _tile_stored(0, totals, kTotalBytes);
  _tile_stored(1, totals + 16, kTotalBytes);
  _tile_stored(2, totals + 32, kTotalBytes);
  _tile_stored(3, totals + 48, kTotalBytes);
  settle();
}

/// sums [num_rows, P] = sums * factors + weights [16, kKeys] times the first `count` rows of blocks by sums;
/// without factors they are 1. num_rows is at most 16.
inline void add_weighted(int64_t num_rows, const BFloat16* weights, const BFloat16* const* blocks,
                         int64_t count, int64_t padded, const float* factors, float* sums) {
  const int64_t num_blocks = (count + kKeyBlock - 1) / kKeyBlock;
  for (int64_t first = 0; first < padded; first += 64) {
    alignas(64) float totals[kTileRows * 64];
    const int64_t width = std::min<int64_t>(64, padded - first);
    for (int64_t r = 0; r < num_rows; ++r) {
      const float factor = factors == nullptr ? 1.0f : factors[r];
      for (int64_t c = 0; c < width; c += simd::kLanes)
        simd::store(totals + r * 64 + c, simd::load(sums + r * padded + first + c) * factor);
    }
    add_weighted_columns(weights, blocks, num_blocks, padded, first, width / kTileColumns, totals);
    for (int64_t r = 0; r < num_rows; ++r) {
      for (int64_t c = 0; c < width; c += simd::kLanes)
        simd::store(sums + r * padded + first + c, simd::load(totals + r * 64 + c));
    }
  }
}

/// 16 columns of x, x^T [16, rows] from `columns` on, `stride` apart, times weights by sums [rows / 2, kKeys,
/// 2], `rows` a multiple of 32 -> the transpose of the product, out [kKeys, 16]. Only `num_blocks` blocks of
/// keys.
inline void transposed_product(const BFloat16* columns, int64_t stride, const BFloat16* weights, int64_t rows,
                               int64_t num_blocks, float* out) {
  constexpr int64_t kPairBytes = kKeys * 2 * sizeof(BFloat16), kBlock = kKeyBlock * 2;
  alignas(64) float product[4][kTileRows * kTileColumns];
  settle();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t r = 0; r < rows; r += kTileDepth) {
    _tile_loadd(4, columns + r, stride * sizeof(BFloat16));
    const BFloat16* from = weights + r * kKeys;
    COHORT_MULTIPLY_BLOCK(0, 4, 6, from, kPairBytes)
    if (num_blocks > 1) COHORT_MULTIPLY_BLOCK(1, 4, 6, from + kBlock, kPairBytes)
    if (num_blocks > 2) COHORT_MULTIPLY_BLOCK(2, 4, 6, from + 2 * kBlock, kPairBytes)
    if (num_blocks > 3) COHORT_MULTIPLY_BLOCK(3, 4, 6, from + 3 * kBlock, kPairBytes)
  }
  _tile_stored(0, product[0], 64);
  _tile_stored(1, product[1], 64);
  _tile_stored(2, product[2], 64);
  _tile_stored(3, product[3], 64);
  settle();
  for (int64_t b = 0; b < num_blocks; ++b) {
    simd::UintVec square[kTileRows];
    for (int64_t r = 0; r < kTileRows; ++r)
      square[r] = reinterpret_cast<simd::UintVec>(simd::load(product[b] + r * kTileColumns));
    simd::transpose(square);
    for (int64_t r = 0; r < kTileRows; ++r) {
      simd::store(out + (b * kKeyBlock + r) * kTileColumns, reinterpret_cast<simd::Vec>(square[r]));
    }
  }
}

#undef COHORT_MULTIPLY_BLOCK

}  // namespace
}  // namespace cohort::COHORT_ARCH::tiles
