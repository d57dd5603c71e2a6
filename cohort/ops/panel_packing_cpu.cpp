#include <ATen/Parallel.h>

#include "cohort/ops/panel_layout.h"

namespace cohort::COHORT_ARCH {
namespace {

using namespace simd;
using c10::BFloat16;

/// Rows of a transpose that are packed at a time.
constexpr int64_t kInputsAtOnce = 32;

/// Inputs [first, last), whole steps, of one panel, whose columns begin at `column`.
template <typename T>
void pack_block(const T* weight, T* panel, int64_t column, int64_t first, int64_t last, int64_t out,
                int64_t in) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  for (int64_t c = 0; c < kWidth; ++c) {
    const T* row = column + c < out ? weight + (column + c) * in : nullptr;
    for (int64_t i = 0; i < kStep; ++i) {
      T* to = panel + Arithmetic<T>::place_of(i, c);
      for (int64_t k = first + i; k < last; k += kStep) {
        to[(k - i) * kWidth] = row != nullptr && k < in ? row[k] : T(0.0f);
      }
    }
  }
}

/// The same for kLanes steps and a panel without columns beyond the last.
template <typename T>
void pack_whole_block(const T* weight, T* panel, int64_t column, int64_t first, int64_t in) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  constexpr int64_t kStepWords = kWidth * kStep * sizeof(T) / sizeof(uint32_t);
  for (int64_t place = 0; place < kStepWords; place += kLanes) {
    UintVec block[kLanes];
    for (int64_t c = 0; c < kLanes; ++c) {
      block[c] = Arithmetic<T>::load_steps(weight + (column + place + c) * in + first, in);
    }
    transpose(block);
    auto* to = reinterpret_cast<uint32_t*>(panel + first * kWidth) + place;
    for (int64_t step = 0; step < kLanes; ++step) store(to + step * kStepWords, block[step]);
  }
}

/// One step's inputs of a panel from the rows of its transpose, `stride` apart; what lies behind `inputs`
/// rows or `width` columns is zero.
template <typename Matrix, typename T>
void pack_part_of_step(const Matrix* from, int64_t stride, int64_t inputs, int64_t width, T* to) {
  for (int64_t c = 0; c < kWidth; ++c) {
    for (int64_t k = 0; k < Arithmetic<T>::kStep; ++k)
      to[Arithmetic<T>::place_of(k, c)] = k < inputs && c < width ? T(from[k * stride + c]) : T(0.0f);
  }
}

/// Pairs of kLanes numbers, rounded: of `a` in the lower halves, of `b` in the upper ones.
template <typename Matrix>
COHORT_INLINE UintVec pairs(const Matrix* a, const Matrix* b) {
  if constexpr (std::is_same_v<Matrix, float>) {
    return __builtin_convertvector(to_bfloat16(load(a)), UintVec) |
           __builtin_convertvector(to_bfloat16(load(b)), UintVec) << 16;
  } else {
    return reinterpret_cast<UintVec>(load(a)) >> 16 | reinterpret_cast<UintVec>(load(b));
  }
}

/// The same for all rows and columns.
template <typename Matrix, typename T>
COHORT_INLINE void pack_step(const Matrix* from, int64_t stride, T* to) {
  auto* words = reinterpret_cast<uint32_t*>(to);
  if constexpr (std::is_same_v<T, float>) {
    for (int64_t c = 0; c < kWidth; c += kLanes) store(to + c, load(from + c));
  } else if constexpr (Arithmetic<T>::kStep == 1) {
    store(words, pairs(from, from + kLanes));
  } else if constexpr (std::is_same_v<Matrix, float>) {
    store(words, pairs(from, from + stride));
    store(words + kLanes, pairs(from + kLanes, from + stride + kLanes));
  } else {
    UintVec low, high;
    interleave(*reinterpret_cast<const StoredUintVec*>(from),
               *reinterpret_cast<const StoredUintVec*>(from + stride), low, high);
    store(words, low);
    store(words + kLanes, high);
  }
}

}  // namespace

int64_t panel_elements(int64_t out, int64_t in) {
  return (out + kWidth - 1) / kWidth * kWidth * whole_steps<BFloat16>(in);
}

template <typename T>
void pack_panels(const T* weight, T* panels, int64_t out, int64_t in) {
  constexpr int64_t kBlock = kLanes * Arithmetic<T>::kStep;
  const int64_t count = (out + kWidth - 1) / kWidth, steps = whole_steps<T>(in);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kWidth;
      T* to = panels + column * steps;
      int64_t first = 0;
      if (column + kWidth <= out) {
        for (; first + kBlock <= in; first += kBlock) pack_whole_block(weight, to, column, first, in);
      }
      pack_block(weight, to, column, first, steps, out, in);
    }
  });
}

template <typename T>
void unpack_panels(const T* panels, T* weight, int64_t out, int64_t in) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  const int64_t steps = whole_steps<T>(in);
  at::parallel_for(0, out, kWidth, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) {
      const T* panel = panels + column / kWidth * kWidth * steps;
      for (int64_t k = 0; k < in; ++k) {
        const int64_t place = Arithmetic<T>::place_of(k % kStep, column % kWidth);
        weight[column * in + k] = panel[(k - k % kStep) * kWidth + place];
      }
    }
  });
}

template <typename Matrix, typename T>
void pack_panels_of_transpose(const Matrix* matrix, T* panels, int64_t out, int64_t in) {
  constexpr int64_t kStep = Arithmetic<T>::kStep;
  const int64_t count = (out + kWidth - 1) / kWidth, steps = whole_steps<T>(in);
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    // A few rows at a time, whose lines all panels find in the caches.
    for (int64_t first = 0; first < steps; first += kInputsAtOnce) {
      const int64_t last = std::min(steps, first + kInputsAtOnce);
      for (int64_t panel = begin; panel < end; ++panel) {
        T* to = panels + panel * kWidth * steps;
        const int64_t width = std::min(kWidth, out - panel * kWidth);
        for (int64_t k = first; k < last; k += kStep) {
          const Matrix* from = matrix + k * out + panel * kWidth;
          if (width == kWidth && k + kStep <= in) {
            pack_step(from, out, to + k * kWidth);
          } else {
            pack_part_of_step(from, out, in - k, width, to + k * kWidth);
          }
        }
      }
    }
  });
}

#define COHORT_INSTANTIATE(T)                                  \
  template void pack_panels(const T*, T*, int64_t, int64_t);   \
  template void unpack_panels(const T*, T*, int64_t, int64_t); \
  template void pack_panels_of_transpose(const T*, T*, int64_t, int64_t)
COHORT_INSTANTIATE(float);
COHORT_INSTANTIATE(BFloat16);
template void pack_panels_of_transpose(const float*, BFloat16*, int64_t, int64_t);
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
