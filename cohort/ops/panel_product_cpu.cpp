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
constexpr int64_t kRowFloats = 128 * 1024;

/// Multiply-adds, and copied floats, that are worth a thread.
constexpr int64_t kGrain = 1 << 17;
constexpr int64_t kCopyGrain = 1 << 15;

/// Inputs that are packed at a time, so that what is written stays in the first-level cache.
constexpr int64_t kPackedInputs = 64;

template <typename T>
struct Job {
  const float* x;  // [rows, stride]
  int64_t stride;
  const float* bias;
  T* y;  // [rows, out]
  int64_t out;
  int64_t in;
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
template <int64_t rows, typename T>
COHORT_INLINE void tile(const Job<T>& job, const T* panel, int64_t row, int64_t column) {
  Vec sums[rows][2] = {};
  const float* x = job.x + row * job.stride;
  for (int64_t k = 0; k < job.in; ++k) {
    Vec low, high;
    load_weights(panel + k * kWidth, low, high);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      const Vec value = broadcast(x[r * job.stride + k]);
      sums[r][0] += value * low;
      sums[r][1] += value * high;
    }
  }
  for (int64_t r = 0; r < rows; ++r) store_results(job, row + r, column, sums[r]);
}

/// The last, partial tile.
template <int64_t rows, typename T>
COHORT_INLINE void part_of_tile(const Job<T>& job, const T* panel, int64_t row, int64_t column,
                                int64_t count) {
  if constexpr (rows > 0) {
    if (count == rows) {
      tile<rows>(job, panel, row, column);
    } else {
      part_of_tile<rows - 1>(job, panel, row, column, count);
    }
  }
}

template <typename T>
void all_rows(const Job<T>& job, const T* panel, int64_t rows, int64_t column) {
  int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) tile<kTileRows>(job, panel, row, column);
  part_of_tile<kTileRows - 1>(job, panel, row, column, rows - row);
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

template <typename T>
void panel_product(const T* x, const T* panels, const float* bias, T* y, int64_t rows, int64_t out,
                   int64_t in) {
  const int64_t panel_count = (out + kWidth - 1) / kWidth;
  // Rows a multiple of 1 KiB apart would share their lines in the first-level cache.
  const int64_t stride = (in + 15) / 16 * 16 + 16;
  const int64_t block = std::max(kTileRows, kRowFloats / stride / kTileRows * kTileRows);
  const auto wide = std::make_unique_for_overwrite<float[]>(std::min(rows, block) * stride);
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = std::min(block, rows - first);
    at::parallel_for(0, count, std::max<int64_t>(1, kCopyGrain / in), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) widen(x + (first + r) * in, wide.get() + r * stride, in);
    });
    const int64_t grain = std::max<int64_t>(1, kGrain / (count * in * kWidth));
    const Job<T> job{wide.get(), stride, bias, y + first * out, out, in};
    at::parallel_for(0, panel_count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        all_rows(job, panels + panel * kWidth * in, count, panel * kWidth);
      }
    });
  }
}

template void pack_panels(const float*, float*, int64_t, int64_t);
template void pack_panels(const BFloat16*, BFloat16*, int64_t, int64_t);
template void panel_product(const float*, const float*, const float*, float*, int64_t, int64_t, int64_t);
template void panel_product(const BFloat16*, const BFloat16*, const float*, BFloat16*, int64_t, int64_t,
                            int64_t);

}  // namespace cohort::COHORT_ARCH
