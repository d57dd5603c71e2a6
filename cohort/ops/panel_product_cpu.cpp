#include <algorithm>
#include <memory>
#include <type_traits>

#include "cohort/ops/cut_product.h"
#if defined(__AMX_BF16__)
#include "cohort/ops/panel_product_amx.h"
#endif

namespace cohort::COHORT_ARCH {
namespace {

using namespace simd;
using c10::BFloat16;

// A tile of results stays in registers: kTileRows x 2 accumulators of the 32, 16 or 16 that there are.
constexpr int64_t kTileRows = kLanes == 16 ? 12 : 6;

/// Bytes of the rows that go through all panels at a time: half of a usual second-level cache.
constexpr int64_t kRowBytes = 1 << 19;

constexpr int64_t kLineBytes = 64;

/// Rows of a matrix that are transposed at a time.
constexpr int64_t kLinesAtOnce = 32;

/// Longer rows are multiplied piece by piece, so that many of them stay in that cache for all panels.
constexpr int64_t kLongRowBytes = 1 << 14, kPieceBytes = 1 << 12;

/// Sums of pieces that are held at once.
constexpr int64_t kSumsAtOnce = 1 << 17;

/// Multiply-adds that are worth a thread.
constexpr int64_t kGrain = 1 << 17;

/// How the rows of a product lie in its buffer: one after the other, or the rows of a tile side by side,
/// [tiles, in / kStep, kTileRows, kStep].
enum class RowOrder { kApart, kInterleaved };

template <typename T, typename Y>
struct Job {
  const InputOf<T>* x;  // rows * stride
  int64_t stride;
  const float* bias;
  Y* y;  // [rows, out]
  int64_t out;
  int64_t in;         // in whole steps
  bool adds = false;  // to what y has
};

template <typename T, typename Y>
COHORT_INLINE void store_results(const Job<T, Y>& job, int64_t row, int64_t column, const Vec (&sums)[2]) {
  Y* to = job.y + row * job.out + column;
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t begin = half * kLanes;
    const int64_t count = std::min(kLanes, job.out - column - begin);
    if (count <= 0) return;
    const bool is_whole = count == kLanes;
    Vec sum = sums[half];
    if (job.bias != nullptr) {
      const float* bias = job.bias + column + begin;
      sum += is_whole ? load(bias) : load_part(bias, count);
    }
    if (job.adds) sum += is_whole ? load(to + begin) : load_part(to + begin, count);
    if (is_whole) {
      store(to + begin, sum);
    } else {
      store_part(to + begin, sum, count);
    }
  }
}

/// Elements of a panel that one fetch brings: a cache line, or a step where that takes less; and a step's
/// fetches.
template <typename T>
constexpr int64_t kFetched = std::min<int64_t>(kLineBytes / sizeof(T), kWidth* Arithmetic<T>::kStep);
template <typename T>
constexpr int64_t kFetches = kWidth * Arithmetic<T>::kStep / kFetched<T>;

/// `rows` rows from `row` on against one panel. Meanwhile the weights at `ahead` come into the second-level
/// cache by so many fetches a step.
template <int64_t rows, int64_t fetches, RowOrder order, typename T, typename Y>
COHORT_INLINE void tile(const Job<T, Y>& job, const T* panel, const T* ahead, int64_t row, int64_t column) {
  using A = Arithmetic<T>;
  Vec sums[rows][2] = {};
  const InputOf<T>* x = job.x + row * job.stride;
  for (int64_t k = 0; k < job.in; k += A::kStep) {
    typename A::Values low, high;
    A::load_weights(panel + k * kWidth, low, high);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t place = order == RowOrder::kApart ? r * job.stride + k : k * kTileRows + r * A::kStep;
      const auto inputs = A::broadcast_inputs(x + place);
      A::add(sums[r][0], inputs, low);
      A::add(sums[r][1], inputs, high);
    }
    for (int64_t i = 0; i < fetches; ++i)
      __builtin_prefetch(ahead + (k / A::kStep * fetches + i) * kFetched<T>, /*writes=*/0, /*locality=*/2);
  }
  for (int64_t r = 0; r < rows; ++r) store_results(job, row + r, column, sums[r]);
}

/// The last tile, of `count` rows, at most `rows`.
template <int64_t rows, int64_t fetches, RowOrder order, typename T, typename Y>
COHORT_INLINE void part_of_tile(const Job<T, Y>& job, const T* panel, const T* ahead, int64_t row,
                                int64_t column, int64_t count) {
  if constexpr (rows > 0) {
    if (count == rows) {
      tile<rows, fetches, order>(job, panel, ahead, row, column);
    } else {
      part_of_tile<rows - 1, fetches, order>(job, panel, ahead, row, column, count);
    }
  }
}

/// All rows against one panel; the first ones fetch the next, `to_next` elements further on: a single tile
/// all of it, several tiles by one fetch a step each, which holds up their products least.
template <RowOrder order, typename T, typename Y>
void all_rows(const Job<T, Y>& job, const T* panel, int64_t to_next, int64_t rows, int64_t column) {
  const T* next = panel + to_next;
  if (rows <= kTileRows) {
    part_of_tile<kTileRows, kFetches<T>, order>(job, panel, next, 0, column, rows);
    return;
  }
  const int64_t part = job.in / Arithmetic<T>::kStep * kFetched<T>;
  const auto ahead = [&](int64_t index) { return index < kFetches<T> ? next + index * part : panel; };
  int64_t row = 0, i = 0;
  for (; row + kTileRows <= rows; row += kTileRows, ++i)
    tile<kTileRows, 1, order>(job, panel, ahead(i), row, column);
  part_of_tile<kTileRows - 1, 1, order>(job, panel, ahead(i), row, column, rows - row);
}

/// A row of `in` elements as the product reads it.
template <typename T>
void copy_row(const T* from, InputOf<T>* to, int64_t in) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, InputOf<T>>) {
    std::copy_n(from, in, to);
    i = in;
  } else {
    for (; i + kLanes <= in; i += kLanes) store(to + i, load(from + i));
    for (; i < in; ++i) to[i] = from[i];
  }
  std::fill(to + i, to + whole_steps<T>(in), InputOf<T>(0.0f));
}

/// One step's inputs of a tile's `rows` rows, from the columns of x that begin at `from`; all of them where
/// is_whole, else `inputs` of `rows` rows.
template <bool is_whole, typename T>
COHORT_INLINE void interleave_step(const T* __restrict from, int64_t width, int64_t inputs, int64_t rows,
                                   InputOf<T>* __restrict to) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  for (int64_t r = 0; r < kTileRows; ++r) {
    for (int64_t i = 0; i < kStep; ++i) {
      const bool is_there = is_whole || (r < rows && i < inputs);
      to[r * kStep + i] = is_there ? from[i * width + r] : T(0.0f);
    }
  }
}

/// Columns [first_row, first_row + rows) of x [in, width] as interleaved rows, filled up with zeros. A few
/// rows of x at a time, whose lines all tiles find in the first-level cache.
template <typename T>
void interleave(const T* x, InputOf<T>* to, int64_t first_row, int64_t rows, int64_t width, int64_t in) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  for (int64_t first = 0; first < in; first += kLinesAtOnce) {
    const int64_t last = std::min(in, first + kLinesAtOnce);
    for (int64_t row = 0; row < rows; row += kTileRows) {
      const int64_t count = std::min(kTileRows, rows - row);
      InputOf<T>* tile = to + row * whole_steps<T>(in);
      for (int64_t k = first; k < last; k += kStep) {
        const T* from = x + k * width + first_row + row;
        if (count == kTileRows && k + kStep <= in) {
          interleave_step</*is_whole=*/true>(from, width, kStep, kTileRows, tile + k * kTileRows);
        } else {
          interleave_step</*is_whole=*/false>(from, width, in - k, count, tile + k * kTileRows);
        }
      }
    }
  }
}

/// Rows, in whole tiles, of `stride` elements each, that stay in the second-level cache while all panels
/// pass.
template <typename T>
int64_t rows_at_once(int64_t stride) {
  const int64_t row_bytes = stride * static_cast<int64_t>(sizeof(InputOf<T>));
  return std::max(kTileRows, kRowBytes / row_bytes / kTileRows * kTileRows);
}

/// `count` results of a row, from `column` on, rounded.
template <typename T>
void store_row(const float* sums, const float* bias, T* y, int64_t column, int64_t count) {
  for (int64_t c = 0; c < count; c += kLanes) {
    const int64_t lanes = std::min(kLanes, count - c);
    Vec sum = load_part(sums + c, lanes);
    if (bias != nullptr) sum += load_part(bias + column + c, lanes);
    store_part(y + column + c, sum, lanes);
  }
}

/// panel_product of long rows: a result is the sum of its pieces' chains, in order.
template <typename T>
void product_in_pieces(const T* x, const T* panels, const float* bias, T* y, int64_t rows, int64_t out,
                       int64_t in) {
  using Input = InputOf<T>;
  constexpr int64_t kPiece = kPieceBytes / sizeof(Input), kStride = kPiece + kLineBytes / sizeof(Input);
  const int64_t steps = whole_steps<T>(in);
  cut_product(
      rows, out, in, kTileRows, kGrain,
      [&](int64_t first_row, int64_t count, int64_t first_panel, int64_t num_panels) {
        const int64_t block = std::min(count, rows_at_once<T>(kStride));
        const int64_t panels_at_once = std::clamp(kSumsAtOnce / (block * kWidth), int64_t{1}, num_panels);
        const auto inputs = std::make_unique_for_overwrite<Input[]>(block * kStride);
        const auto sums = std::make_unique_for_overwrite<float[]>(block * panels_at_once * kWidth);
        const auto multiply = [&](int64_t row, int64_t num_rows, int64_t panel, int64_t width) {
          for (int64_t first = 0; first < in; first += kPiece) {
            const int64_t depth = std::min(kPiece, in - first);
            for (int64_t r = 0; r < num_rows; ++r) {
              copy_row(x + (row + r) * in + first, inputs.get() + r * kStride, depth);
            }
            const Job<T, float> job{inputs.get(),          kStride,           nullptr, sums.get(), width,
                                    whole_steps<T>(depth), /*adds=*/first > 0};
            for (int64_t column = 0; column < width; column += kWidth) {
              const T* from = panels + (panel * kWidth + column) * steps + first * kWidth;
              all_rows<RowOrder::kApart>(job, from, kWidth * steps, num_rows, column);
            }
          }
        };
        for (int64_t row = first_row; row < first_row + count; row += block) {
          const int64_t num_rows = std::min(block, first_row + count - row);
          for (int64_t panel = first_panel; panel < first_panel + num_panels; panel += panels_at_once) {
            const int64_t width = std::min(panels_at_once, first_panel + num_panels - panel) * kWidth;
            multiply(row, num_rows, panel, width);
            for (int64_t r = 0; r < num_rows; ++r) {
              const int64_t column = panel * kWidth;
              store_row(sums.get() + r * width, bias, y + (row + r) * out, column,
                        std::min(width, out - column));
            }
          }
        }
      });
}

}  // namespace

template <typename T>
void panel_product(const T* x, const T* panels, const float* bias, T* y, int64_t rows, int64_t out,
                   int64_t in) {
  if (rows == 0) return;
#if defined(__AMX_BF16__)
  if constexpr (std::is_same_v<T, BFloat16>) {
    product_by_tiles(x, panels, bias, y, rows, out, in);
    return;
  }
#endif
  using Input = InputOf<T>;
  constexpr int64_t kLine = kLineBytes / sizeof(Input);
  if (in * static_cast<int64_t>(sizeof(Input)) > kLongRowBytes) {
    product_in_pieces(x, panels, bias, y, rows, out, in);
    return;
  }
  // Rows a multiple of 1 KiB apart would share their lines in the first-level cache.
  const int64_t stride = (in + kLine - 1) / kLine * kLine + kLine, block = rows_at_once<T>(stride);
  const int64_t steps = whole_steps<T>(in);
  cut_product(rows, out, in, kTileRows, kGrain,
              [&](int64_t first_row, int64_t count, int64_t first_panel, int64_t num_panels) {
                const auto inputs = std::make_unique_for_overwrite<Input[]>(std::min(count, block) * stride);
                for (int64_t row = first_row; row < first_row + count; row += block) {
                  const int64_t at_once = std::min(block, first_row + count - row);
                  for (int64_t r = 0; r < at_once; ++r)
                    copy_row(x + (row + r) * in, inputs.get() + r * stride, in);
                  const Job<T, T> job{inputs.get(), stride, bias, y + row * out, out, steps};
                  for (int64_t panel = first_panel; panel < first_panel + num_panels; ++panel) {
                    all_rows<RowOrder::kApart>(job, panels + panel * kWidth * steps, kWidth * steps, at_once,
                                               panel * kWidth);
                  }
                }
              });
}

template <typename T>
void add_product_of_transpose(const T* x, const T* panels, float* y, int64_t rows, int64_t out, int64_t in) {
#if defined(__AMX_BF16__)
  if constexpr (std::is_same_v<T, BFloat16>) {
    add_product_by_tiles(x, panels, y, rows, out, in);
    return;
  }
#endif
  using Input = InputOf<T>;
  const int64_t steps = whole_steps<T>(in), block = rows_at_once<T>(steps);
  cut_product(rows, out, in, kTileRows, kGrain,
              [&](int64_t first_row, int64_t count, int64_t first_panel, int64_t num_panels) {
                const int64_t padded = (std::min(count, block) + kTileRows - 1) / kTileRows * kTileRows;
                const auto columns = std::make_unique_for_overwrite<Input[]>(padded * steps);
                for (int64_t row = first_row; row < first_row + count; row += block) {
                  const int64_t at_once = std::min(block, first_row + count - row);
                  interleave(x, columns.get(), row, at_once, rows, in);
                  const Job<T, float> job{columns.get(), steps, nullptr,      y + row * out,
                                          out,           steps, /*adds=*/true};
                  for (int64_t panel = first_panel; panel < first_panel + num_panels; ++panel) {
                    all_rows<RowOrder::kInterleaved>(job, panels + panel * kWidth * steps, kWidth * steps,
                                                     at_once, panel * kWidth);
                  }
                }
              });
}

#define COHORT_INSTANTIATE(T)                                                                   \
  template void panel_product(const T*, const T*, const float*, T*, int64_t, int64_t, int64_t); \
  template void add_product_of_transpose(const T*, const T*, float*, int64_t, int64_t, int64_t)
COHORT_INSTANTIATE(float);
COHORT_INSTANTIATE(BFloat16);
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
