// How weights lie in panels, and how the products of an instruction set add up what they read from them.
// Compiled once per instruction set, like the kernels.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cohort/ops/panel_product_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int64_t kWidth = 2 * kLanes;  // columns of a panel

/// How products of T are computed: in steps of kStep inputs, whose kStep * kWidth weights lie together in a
/// panel, from rows of Input. A panel holds inputs in multiples of kDepth. This one takes T to float32.
template <typename T>
struct Arithmetic {
  using Input = float;
  using Values = Vec;
  static constexpr int64_t kStep = 1, kDepth = 1;

  /// Where the weight of a step's input `k` and a panel's column `c` lies among the step's.
  static int64_t place_of(int64_t /*k*/, int64_t c) {
    return std::is_same_v<T, float> ? c : c % kLanes * 2 + c / kLanes;
  }

  /// What a row of the weight, with that of the upper column in the same word, gives kLanes steps of a panel.
  COHORT_INLINE simd::UintVec load_steps(const T* row, int64_t stride) {
    if constexpr (std::is_same_v<T, float>) {
      return reinterpret_cast<simd::UintVec>(simd::load(row));
    } else {
      const auto low = reinterpret_cast<simd::UintVec>(simd::load(row)) >> 16;
      return low | reinterpret_cast<simd::UintVec>(simd::load(row + kLanes * stride));
    }
  }

  /// Lanes of the panel's lower and of its upper columns.
  COHORT_INLINE void load_weights(const T* p, Values& low, Values& high) {
    if constexpr (std::is_same_v<T, float>) {
      low = simd::load(p);
      high = simd::load(p + kLanes);
    } else {
      const simd::UintVec pair = *reinterpret_cast<const simd::StoredUintVec*>(p);
      low = reinterpret_cast<Vec>(pair << 16);
      high = reinterpret_cast<Vec>(pair & 0xffff0000u);
    }
  }

  COHORT_INLINE Values broadcast_inputs(const Input* x) { return simd::broadcast(*x); }
  COHORT_INLINE void add(Vec& sum, Values inputs, Values weights) { sum += inputs * weights; }
};

#if defined(__AVX512BF16__)
/// Dot products of pairs.
template <>
struct Arithmetic<c10::BFloat16> {
  using Input = c10::BFloat16;
  using Values = simd::Pairs;
  static constexpr int64_t kStep = 2;
#if defined(__AMX_BF16__)
  static constexpr int64_t kDepth = 32;  // what one instruction adds up
#else
  static constexpr int64_t kDepth = kStep;
#endif

  static int64_t place_of(int64_t k, int64_t c) { return 2 * c + k; }

  COHORT_INLINE simd::UintVec load_steps(const c10::BFloat16* row, int64_t /*stride*/) {
    return *reinterpret_cast<const simd::StoredUintVec*>(row);
  }

  COHORT_INLINE void load_weights(const c10::BFloat16* p, Values& low, Values& high) {
    low = simd::load_pairs(p);
    high = simd::load_pairs(p + kWidth);
  }

  COHORT_INLINE Values broadcast_inputs(const Input* x) { return simd::broadcast_pair(x); }
  COHORT_INLINE void add(Vec& sum, Values inputs, Values weights) {
    sum = simd::add_products(sum, inputs, weights);
  }
};
#endif

template <typename T>
using InputOf = typename Arithmetic<T>::Input;

/// `in` as panels hold it; what is beyond it is zero.
template <typename T>
int64_t whole_steps(int64_t in) {
  constexpr int64_t kDepth = Arithmetic<T>::kDepth;
  return (in + kDepth - 1) / kDepth * kDepth;
}

}  // namespace
}  // namespace cohort::COHORT_ARCH
