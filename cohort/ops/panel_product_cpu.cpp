#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "cohort/ops/panel_product_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using namespace simd;
using c10::BFloat16;

// A tile of results stays in registers: kTileRows x 2 accumulators of the 32, 16 or 16 that there are.
constexpr int64_t kWidth = 2 * kLanes;
constexpr int64_t kTileRows = kLanes == 16 ? 12 : 6;

/// Floats of the rows that go through all panels at a time: half of a usual second-level cache.
constexpr int64_t kRowFloats = 1 << 17;

/// Multiply-adds that are worth a thread.
constexpr int64_t kGrain = 1 << 17;

/// Tiles that a thread gets where rows are cut: with fewer the last ones wait for each other.
constexpr int64_t kTilesOfThread = 8;

/// Inputs that are packed at a time, so that what is written stays in the first-level cache.
constexpr int64_t kPackedInputs = 64;

/// How the rows of a product lie in its buffer: one after the other, or the rows of a tile side by side,
/// [tiles, in, kTileRows].
enum class RowOrder { kApart, kInterleaved };

template <typename T>
struct Job {
  const float* x;  // rows * stride
  int64_t stride;
  const float* bias;
  T* y;  // [rows, out]
  int64_t out;
  int64_t in;
  bool adds = false;  // to what y has
};

template <typename T>
COHORT_INLINE void store_results(const Job<T>& job, int64_t row, int64_t column, const Vec (&sums)[2]) {
  T* to = job.y + row * job.out + column;
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

/// The weights of one input: lanes of the panel's lower and of its upper columns.
COHORT_INLINE void load_weights(const float* p, Vec& low, Vec& high) {
  low = load(p);
  high = load(p + kLanes);
}

COHORT_INLINE void load_weights(const BFloat16* p, Vec& low, Vec& high) {
  const UintVec pair = *reinterpret_cast<const StoredUintVec*>(p);
  low = reinterpret_cast<Vec>(pair << 16);
  high = reinterpret_cast<Vec>(pair & 0xffff0000u);
}

/// Where column c of a panel lies among the weights of one input: load_weights' inverse.
template <typename T>
int64_t place_of(int64_t c) {
  return std::is_same_v<T, float> ? c : c % kLanes * 2 + c / kLanes;
}

/// `rows` rows from `row` on against one panel.
template <int64_t rows, RowOrder order, typename T>
COHORT_INLINE void tile(const Job<T>& job, const T* panel, int64_t row, int64_t column) {
  Vec sums[rows][2] = {};
  const float* x = job.x + row * job.stride;
  for (int64_t k = 0; k < job.in; ++k) {
    Vec low, high;
    load_weights(panel + k * kWidth, low, high);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t place = order == RowOrder::kApart ? r * job.stride + k : k * kTileRows + r;
      const Vec value = broadcast(x[place]);
      sums[r][0] += value * low;
      sums[r][1] += value * high;
    }
  }
  for (int64_t r = 0; r < rows; ++r) store_results(job, row + r, column, sums[r]);
}

/// The last, partial tile.
template <int64_t rows, RowOrder order, typename T>
COHORT_INLINE void part_of_tile(const Job<T>& job, const T* panel, int64_t row, int64_t column,
                                int64_t count) {
  if constexpr (rows > 0) {
    if (count == rows) {
      tile<rows, order>(job, panel, row, column);
    } else {
      part_of_tile<rows - 1, order>(job, panel, row, column, count);
    }
  }
}

template <RowOrder order, typename T>
void all_rows(const Job<T>& job, const T* panel, int64_t rows, int64_t column) {
  int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) tile<kTileRows, order>(job, panel, row, column);
  part_of_tile<kTileRows - 1, order>(job, panel, row, column, rows - row);
}

template <typename T>
void widen(const T* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

/// Inputs [first, last) of one panel, whose columns begin at `column`.
template <typename T>
void pack_block(const T* weight, T* panel, int64_t column, int64_t first, int64_t last, int64_t out,
                int64_t in) {
  for (int64_t c = 0; c < kWidth; ++c) {
    const T* row = column + c < out ? weight + (column + c) * in : nullptr;
    T* to = panel + place_of<T>(c);
    for (int64_t k = first; k < last; ++k) to[k * kWidth] = row != nullptr ? row[k] : T(0.0f);
  }
}

/// Columns [first_row, first_row + rows) of x [in, width] as interleaved rows, filled up with zeros.
void interleave(const float* x, float* to, int64_t first_row, int64_t rows, int64_t width, int64_t in) {
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const int64_t count = std::min(kTileRows, rows - row);
    const float* from = x + first_row + row;
    for (int64_t k = 0; k < in; ++k, to += kTileRows, from += width) {
      if (count == kTileRows) {
        std::copy_n(from, kTileRows, to);
      } else {
        std::fill(std::copy_n(from, count, to), to + kTileRows, 0.0f);
      }
    }
  }
}

/// Rows, in whole tiles, whose `stride` floats each stay in the second-level cache while all panels pass.
int64_t rows_at_once(int64_t stride) {
  return std::max(kTileRows, kRowFloats / stride / kTileRows * kTileRows);
}

/// Cuts a product among the threads: many rows by their tiles, few by the panels. f(first row, rows, first
/// panel, panels).
template <typename F>
void cut_product(int64_t rows, int64_t out, int64_t in, F f) {
  const int64_t num_panels = (out + kWidth - 1) / kWidth, num_tiles = (rows + kTileRows - 1) / kTileRows;
  const bool is_by_rows = num_tiles >= kTilesOfThread * at::get_num_threads();
  const int64_t count = is_by_rows ? num_tiles : num_panels;
  const int64_t work = rows * in * num_panels * kWidth / std::max<int64_t>(1, count);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    if (is_by_rows) {
      const int64_t first = begin * kTileRows;
      f(first, std::min(rows, end * kTileRows) - first, int64_t{0}, num_panels);
    } else {
      f(int64_t{0}, rows, begin, end - begin);
    }
  });
}

}  // namespace

int64_t panel_elements(int64_t out, int64_t in) { return (out + kWidth - 1) / kWidth * kWidth * in; }

template <typename T>
void pack_panels(const T* weight, T* panels, int64_t out, int64_t in) {
  const int64_t count = (out + kWidth - 1) / kWidth;
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      for (int64_t first = 0; first < in; first += kPackedInputs) {
        pack_block(weight, panels + panel * kWidth * in, panel * kWidth, first,
                   std::min(in, first + kPackedInputs), out, in);
      }
    }
  });
}

void pack_panels_of_transpose(const float* matrix, float* panels, int64_t out, int64_t in) {
  const int64_t count = (out + kWidth - 1) / kWidth;
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const float* from = matrix + panel * kWidth;
      float* to = panels + panel * kWidth * in;
      const int64_t width = std::min(kWidth, out - panel * kWidth);
      for (int64_t k = 0; k < in; ++k, from += out, to += kWidth) {
        if (width == kWidth) {
          store(to, load(from));
          store(to + kLanes, load(from + kLanes));
        } else {
          std::fill(std::copy_n(from, width, to), to + kWidth, 0.0f);
        }
      }
    }
  });
}

template <typename T>
void panel_product(const T* x, const T* panels, const float* bias, T* y, int64_t rows, int64_t out,
                   int64_t in) {
  // Rows a multiple of 1 KiB apart would share their lines in the first-level cache.
  const int64_t stride = (in + 15) / 16 * 16 + 16, block = rows_at_once(stride);
  cut_product(rows, out, in, [&](int64_t first_row, int64_t count, int64_t first_panel, int64_t num_panels) {
    const auto wide = std::make_unique_for_overwrite<float[]>(std::min(count, block) * stride);
    for (int64_t row = first_row; row < first_row + count; row += block) {
      const int64_t at_once = std::min(block, first_row + count - row);
      for (int64_t r = 0; r < at_once; ++r) widen(x + (row + r) * in, wide.get() + r * stride, in);
      const Job<T> job{wide.get(), stride, bias, y + row * out, out, in};
      for (int64_t panel = first_panel; panel < first_panel + num_panels; ++panel) {
        all_rows<RowOrder::kApart>(job, panels + panel * kWidth * in, at_once, panel * kWidth);
      }
    }
  });
}

void add_product_of_transpose(const float* x, const float* panels, float* y, int64_t rows, int64_t out,
                              int64_t in) {
  const int64_t block = rows_at_once(in);
  cut_product(rows, out, in, [&](int64_t first_row, int64_t count, int64_t first_panel, int64_t num_panels) {
    const int64_t padded = (std::min(count, block) + kTileRows - 1) / kTileRows * kTileRows;
    const auto columns = std::make_unique_for_overwrite<float[]>(padded * in);
    for (int64_t row = first_row; row < first_row + count; row += block) {
      const int64_t at_once = std::min(block, first_row + count - row);
      interleave(x, columns.get(), row, at_once, rows, in);
      const Job<float> job{columns.get(), in, nullptr, y + row * out, out, in, /*adds=*/true};
      for (int64_t panel = first_panel; panel < first_panel + num_panels; ++panel) {
        all_rows<RowOrder::kInterleaved>(job, panels + panel * kWidth * in, at_once, panel * kWidth);
      }
    }
  });
}

template void pack_panels(const float*, float*, int64_t, int64_t);
template void pack_panels(const BFloat16*, BFloat16*, int64_t, int64_t);
template void panel_product(const float*, const float*, const float*, float*, int64_t, int64_t, int64_t);
template void panel_product(const BFloat16*, const BFloat16*, const float*, BFloat16*, int64_t, int64_t,
                            int64_t);

}  // namespace cohort::COHORT_ARCH
