// Products with panels of bfloat16 by the processor's matrix unit. A result is one float32 chain over chunks
// of 32 inputs, whatever rows and columns stand beside it.
#pragma once

#include <memory>

#include "cohort/ops/amx_tiles.h"
#include "cohort/ops/cut_product.h"

namespace cohort::COHORT_ARCH {
namespace {

using c10::BFloat16;

constexpr int64_t kBlockRows = 2 * tiles::kTileRows;  // rows and columns of results that stay in tiles
static_assert(kWidth == 2 * tiles::kTileColumns && Arithmetic<BFloat16>::kDepth == tiles::kTileDepth);
constexpr int64_t kBlockElements = kBlockRows * kWidth;
constexpr int64_t kLine = 64 / sizeof(BFloat16), kLinesOfStep = tiles::kTileDepth * kWidth / kLine;

/// Inputs that are multiplied at a time: a block's rows stay in the first-level cache for all panels.
constexpr int64_t kMostInputs = 640, kInputsOfChunk = 512;
/// Panels that stay in the second-level cache for all rows, and rows that are packed at a time.
constexpr int64_t kPanelsAtOnce = 32, kRowsAtOnce = 256;

/// Blocks of rows that wait for the weights rather than for the unit.
constexpr int64_t kFewBlocks = 4;

/// Multiply-adds that are worth a thread.
constexpr int64_t kAmxGrain = 1 << 20;

/// Weights that a block fetches for the next panel while it computes: `lines` cache lines of every 32 inputs.
struct Ahead {
  const BFloat16* weights;
  int64_t lines;
};

/// sums [kBlockRows, kWidth] = (adds: +=) rows [depth / 32, kBlockRows, 32] times `depth` inputs of a panel.
/// is_half: only the first half of the rows.
template <bool is_half>
COHORT_INLINE void multiply_block(const BFloat16* rows, const BFloat16* panel, int64_t depth, bool adds,
                                  Ahead ahead, float* sums) {
  constexpr int64_t kSumBytes = kWidth * sizeof(float), kPanelBytes = kWidth * 2 * sizeof(BFloat16);
  constexpr int64_t kRowBytes = tiles::kTileDepth * sizeof(BFloat16);
  float* lower = sums + tiles::kTileRows * kWidth;
  tiles::settle();
  if (adds) {
    _tile_loadd(0, sums, kSumBytes);
    _tile_loadd(1, sums + tiles::kTileColumns, kSumBytes);
    if constexpr (!is_half) {
      _tile_loadd(2, lower, kSumBytes);
      _tile_loadd(3, lower + tiles::kTileColumns, kSumBytes);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (!is_half) {
      _tile_zero(2);
      _tile_zero(3);
    }
  }
  for (int64_t k = 0; k < depth; k += tiles::kTileDepth) {
    const BFloat16* weights = panel + k * kWidth;
    const BFloat16* inputs = rows + k * kBlockRows;
    // Weights pass by: the hint keeps the rows in the first-level cache.
    _tile_stream_loadd(6, weights, kPanelBytes);
    _tile_loadd(4, inputs, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_stream_loadd(7, weights + 2 * tiles::kTileColumns, kPanelBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (!is_half) {
      _tile_loadd(5, inputs + tiles::kTileElements, kRowBytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    for (int64_t line = 0; line < ahead.lines; ++line)
      __builtin_prefetch(ahead.weights + k * kWidth + line * kLine, 0, 2);
  }
  _tile_stored(0, sums, kSumBytes);
  _tile_stored(1, sums + tiles::kTileColumns, kSumBytes);
  if constexpr (!is_half) {
    _tile_stored(2, lower, kSumBytes);
    _tile_stored(3, lower + tiles::kTileColumns, kSumBytes);
  }
  tiles::settle();
}

/// Where the results of a product go: rounded, with a bias, or added to float32.
template <typename Y>
struct Results {
  Y* y;  // [rows, out]
  int64_t rows, out;
  const float* bias;

  /// One row's sums of kLanes columns.
  COHORT_INLINE void store_lanes(const Results& to, const float* sums, int64_t row, int64_t column) {
    const int64_t count = std::min(kLanes, to.out - column);
    if (count <= 0) return;
    Y* y = to.y + row * to.out + column;
    Vec sum = simd::load(sums);
    if (count == kLanes) {
      if (to.bias != nullptr) sum += simd::load(to.bias + column);
      if constexpr (std::is_same_v<Y, float>) sum += simd::load(y);
      simd::store(y, sum);
    } else {
      if (to.bias != nullptr) sum += simd::load_part(to.bias + column, count);
      if constexpr (std::is_same_v<Y, float>) sum += simd::load_part(y, count);
      simd::store_part(y, sum, count);
    }
  }

  void store(const float* sums, int64_t row, int64_t column) const {
    const int64_t count = std::min(kBlockRows, rows - row);
    for (int64_t r = 0; r < count; ++r) {
      store_lanes(*this, sums + r * kWidth, row + r, column);
      store_lanes(*this, sums + r * kWidth + kLanes, row + r, column + kLanes);
    }
  }
};

/// A thread's part of a product: blocks of rows times panels.
template <typename Y>
class Part {
 public:
  /// Of up to `num_rows` rows and `num_panels` panels.
  Part(const Results<Y>& results, const BFloat16* panels, int64_t in, int64_t num_rows, int64_t num_panels)
      : results_(results),
        panels_(panels),
        steps_(whole_steps<BFloat16>(in)),
        inputs_at_once_(steps_ <= kMostInputs ? steps_ : kInputsOfChunk),
        rows_at_once_(std::min((num_rows + kBlockRows - 1) / kBlockRows * kBlockRows, kRowsAtOnce)),
        num_sums_(has_chunks() ? rows_at_once_ / kBlockRows * std::min(num_panels, kPanelsAtOnce) : 2),
        rows_(std::make_unique_for_overwrite<BFloat16[]>(rows_at_once_ * inputs_at_once_)),
        sums_(std::make_unique_for_overwrite<float[]>(num_sums_ * kBlockElements)) {}

  bool has_chunks() const { return inputs_at_once_ < steps_; }
  int64_t rows_at_once() const { return rows_at_once_; }

  /// Rows [row, last_row), at most rows_at_once(), times panels [panel, last_panel), at most kPanelsAtOnce.
  /// pack(row, blocks, first input, inputs, to, stride) writes the blocks of rows from `row` on, each as
  /// [inputs / 32, kBlockRows, 32], `stride` apart.
  template <typename Pack>
  void multiply(int64_t row, int64_t last_row, int64_t panel, int64_t last_panel, Pack pack) {
    const int64_t num_blocks = (last_row - row + kBlockRows - 1) / kBlockRows;
    late_ = {};
    for (int64_t k = 0; k < steps_; k += inputs_at_once_) {
      const int64_t depth = std::min(inputs_at_once_, steps_ - k);
      pack(row, num_blocks, k, depth, block(0), kBlockRows * inputs_at_once_);
      const auto multiply_one = [&](int64_t b, int64_t p, int64_t sum,
                                    int64_t lines) __attribute__((always_inline)) {
        const int64_t r = row + b * kBlockRows;
        const BFloat16* weights = panels_ + (p * steps_ + k) * kWidth;
        const Ahead ahead{weights + steps_ * kWidth + b * lines * kLine, p + 1 < last_panel ? lines : 0};
        float* to = sums_.get() + sum % num_sums_ * kBlockElements;
        if (last_row - r <= tiles::kTileRows) {
          multiply_block</*is_half=*/true>(block(b), weights, depth, k > 0, ahead, to);
        } else {
          multiply_block</*is_half=*/false>(block(b), weights, depth, k > 0, ahead, to);
        }
        if (k + depth == steps_) store_late({to, r, p * kWidth});
      };
      const int64_t width = last_panel - panel;
      if (num_blocks <= kFewBlocks) {
        // Weights come from memory: each panel once, for all rows, while the one before it is multiplied.
        for (int64_t p = 0; p < width; ++p) {
          for (int64_t b = 0; b < num_blocks; ++b)
            multiply_one(b, panel + p, p * num_blocks + b, kLinesOfStep / num_blocks);
        }
      } else {
        for (int64_t b = 0; b < num_blocks; ++b) {
          for (int64_t p = 0; p < width; ++p) multiply_one(b, panel + p, b * width + p, 0);
        }
      }
    }
    store_late({});
  }

 private:
  /// Sums of a block that are complete: stored while the next block is computed.
  struct Late {
    const float* sums = nullptr;
    int64_t row = 0, column = 0;
  };

  BFloat16* block(int64_t b) { return rows_.get() + b * kBlockRows * inputs_at_once_; }

  void store_late(Late next) {
    if (late_.sums != nullptr) results_.store(late_.sums, late_.row, late_.column);
    late_ = next;
  }

  const Results<Y>& results_;
  const BFloat16* panels_;
  int64_t steps_, inputs_at_once_, rows_at_once_, num_sums_;
  std::unique_ptr<BFloat16[]> rows_;
  std::unique_ptr<float[]> sums_;
  Late late_;
};

/// A product cut among the threads; see Part::multiply.
template <typename Y, typename Pack>
void multiply_tiles(const Results<Y>& results, const BFloat16* panels, int64_t in, Pack pack) {
  cut_product(results.rows, results.out, in, kBlockRows, kAmxGrain,
              [&](int64_t first_row, int64_t num_rows, int64_t first_panel, int64_t num_panels) {
                const tiles::TileScope<tiles::TileShapes::kWhole> scope;
                Part<Y> part(results, panels, in, num_rows, num_panels);
                const int64_t end_row = first_row + num_rows, end_panel = first_panel + num_panels;
                for (int64_t panel = first_panel; panel < end_panel; panel += kPanelsAtOnce) {
                  for (int64_t row = first_row; row < end_row; row += part.rows_at_once()) {
                    part.multiply(row, std::min(end_row, row + part.rows_at_once()), panel,
                                  std::min(end_panel, panel + kPanelsAtOnce), pack);
                  }
                }
              });
}

/// 32 elements from `from` on; those behind the first `count` are zero.
COHORT_INLINE __m512i load_inputs(const BFloat16* from, int64_t count) {
  if (count >= tiles::kTileDepth) return _mm512_loadu_si512(from);
  return _mm512_maskz_loadu_epi16((uint32_t{1} << std::max<int64_t>(0, count)) - 1, from);
}

/// panel_product by tiles.
inline void product_by_tiles(const BFloat16* x, const BFloat16* panels, const float* bias, BFloat16* y,
                             int64_t rows, int64_t out, int64_t in) {
  const Results<BFloat16> results{y, rows, out, bias};
  const auto pack = [&](int64_t row, int64_t blocks, int64_t first, int64_t depth, BFloat16* to,
                        int64_t stride) {
    for (int64_t r = 0; r < std::min(blocks * kBlockRows, rows - row); ++r) {
      const BFloat16* from = x + (row + r) * in;
      BFloat16* block = to + r / kBlockRows * stride + r % kBlockRows * tiles::kTileDepth;
      for (int64_t k = 0; k < depth; k += tiles::kTileDepth) {
        _mm512_storeu_si512(block + k * kBlockRows, load_inputs(from + first + k, in - first - k));
      }
    }
  };
  multiply_tiles(results, panels, in, pack);
}

/// add_product_of_transpose by tiles.
inline void add_product_by_tiles(const BFloat16* x, const BFloat16* panels, float* y, int64_t rows,
                                 int64_t out, int64_t in) {
  const Results<float> results{y, rows, out, nullptr};
  const auto pack_square = [&](int64_t row, int64_t first, BFloat16* to) __attribute__((always_inline)) {
    const int64_t count = std::min(kBlockRows, rows - row);
    simd::UintVec low[kLanes], high[kLanes];  // pairs of inputs of the first and of the other rows
    for (int64_t pair = 0; pair < kLanes; ++pair) {
      const int64_t even = first + 2 * pair;
      const BFloat16* from = x + even * rows + row;
      const auto a = reinterpret_cast<simd::UintVec>(load_inputs(from, even < in ? count : 0));
      const auto b = reinterpret_cast<simd::UintVec>(load_inputs(from + rows, even + 1 < in ? count : 0));
      simd::interleave(a, b, low[pair], high[pair]);
    }
    simd::transpose(low);
    simd::transpose(high);
    for (int64_t r = 0; r < kLanes; ++r) {
      simd::store(reinterpret_cast<uint32_t*>(to) + r * kLanes, low[r]);
      simd::store(reinterpret_cast<uint32_t*>(to) + (kLanes + r) * kLanes, high[r]);
    }
  };
  // By inputs first: what lies side by side in memory is read together.
  const auto pack = [&](int64_t row, int64_t blocks, int64_t first, int64_t depth, BFloat16* to,
                        int64_t stride) {
    for (int64_t k = 0; k < depth; k += tiles::kTileDepth) {
      for (int64_t b = 0; b < blocks; ++b) {
        pack_square(row + b * kBlockRows, first + k, to + b * stride + k * kBlockRows);
      }
    }
  };
  multiply_tiles(results, panels, in, pack);
}

}  // namespace
}  // namespace cohort::COHORT_ARCH
