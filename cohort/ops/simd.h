// One register of floats at a time, in GCC's vector types, as wide as the instruction set that is compiled
// for: 16, 8 or 4 lanes. (Wider types than the registers would live in memory.)
//
// Every *_cpu.cpp file is compiled once per instruction set, into the namespace COHORT_ARCH; cpu_arch.h picks
// one when the program starts, so that every call of a run takes the same instructions and a row gives the
// same bits wherever it is computed.
#pragma once

#include <c10/util/BFloat16.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

#define COHORT_INLINE static inline __attribute__((always_inline))

namespace cohort::COHORT_ARCH::simd {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t IntVec __attribute__((vector_size(4 * kLanes)));
typedef uint32_t UintVec __attribute__((vector_size(4 * kLanes)));
typedef uint16_t HalfVec __attribute__((vector_size(2 * kLanes)));
// As they lie in memory.
typedef float StoredVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef uint32_t StoredUintVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef uint16_t StoredHalfVec __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));

COHORT_INLINE Vec broadcast(float x) { return x - Vec{}; }

COHORT_INLINE Vec load(const float* p) { return *reinterpret_cast<const StoredVec*>(p); }

COHORT_INLINE Vec load(const c10::BFloat16* p) {
  const HalfVec half = *reinterpret_cast<const StoredHalfVec*>(p);
  return reinterpret_cast<Vec>(__builtin_convertvector(half, UintVec) << 16);
}

COHORT_INLINE void store(float* p, Vec v) { *reinterpret_cast<StoredVec*>(p) = v; }

/// Rounded to bfloat16, to nearest, ties to even; a NaN stays one. The processor's own instruction makes 0 of
/// what is too small for a normal number.
COHORT_INLINE HalfVec to_bfloat16(Vec v) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<HalfVec>(_mm512_cvtneps_pbh(v));
#else
  const UintVec bits = reinterpret_cast<UintVec>(v);
  const UintVec rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const IntVec is_nan = v != v;
  const UintVec kept = (rounded & ~(UintVec)is_nan) | (((bits >> 16) | 0x40) & (UintVec)is_nan);
  return __builtin_convertvector(kept, HalfVec);
#endif
}

COHORT_INLINE void store(c10::BFloat16* p, Vec v) { *reinterpret_cast<StoredHalfVec*>(p) = to_bfloat16(v); }

COHORT_INLINE void store(uint32_t* p, UintVec v) { *reinterpret_cast<StoredUintVec*>(p) = v; }

/// Lanes first, first + 1, ... of a and of b by turns.
template <int first, int... i>
COHORT_INLINE UintVec by_turns(UintVec a, UintVec b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i % 2 * static_cast<int>(kLanes) + first + i / 2)...);
}

/// The 16-bit halves of a and of b by turns -> 2 * kLanes words.
COHORT_INLINE void interleave(UintVec a, UintVec b, UintVec& low, UintVec& high) {
  constexpr auto kOrder = std::make_integer_sequence<int, kLanes>();
  const UintVec even = (a & 0xffffu) | (b << 16), odd = (a >> 16) | (b & 0xffff0000u);
  low = by_turns<0>(even, odd, kOrder);
  high = by_turns<kLanes / 2>(even, odd, kOrder);
}

/// Lanes of a, and of b in place of those where `lane & n` is not 0; `is_upper`: with the lanes n further on.
template <int n, bool is_upper, int... i>
COHORT_INLINE UintVec exchange(UintVec a, UintVec b, std::integer_sequence<int, i...>) {
  if constexpr (is_upper) {
    return __builtin_shufflevector(a, b, ((i & n) != 0 ? static_cast<int>(kLanes) + i : i + n)...);
  } else {
    return __builtin_shufflevector(a, b, ((i & n) != 0 ? static_cast<int>(kLanes) + i - n : i)...);
  }
}

/// Lane i of row j becomes lane j of row i.
template <int n = kLanes / 2>
COHORT_INLINE void transpose(UintVec (&rows)[kLanes]) {
  constexpr auto kOrder = std::make_integer_sequence<int, kLanes>();
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) {
    if ((i & n) != 0) continue;
    const UintVec low = exchange<n, false>(rows[i], rows[i + n], kOrder);
    rows[i + n] = exchange<n, true>(rows[i], rows[i + n], kOrder);
    rows[i] = low;
  }
  if constexpr (n > 1) transpose<n / 2>(rows);
}

#if defined(__AVX512BF16__)
using Pairs = __m512bh;

COHORT_INLINE Pairs load_pairs(const c10::BFloat16* p) {
  return reinterpret_cast<Pairs>(_mm512_loadu_si512(p));
}

COHORT_INLINE Pairs broadcast_pair(const c10::BFloat16* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return reinterpret_cast<Pairs>(_mm512_set1_epi32(pair));
}

/// sum + the pairs' products, rounded after each.
COHORT_INLINE Vec add_products(Vec sum, Pairs a, Pairs b) { return _mm512_dpbf16_ps(sum, a, b); }
#endif

/// Loads the first `count` < kLanes elements; the rest is `fill`.
template <typename T>
COHORT_INLINE Vec load_part(const T* p, int64_t count, float fill = 0.0f) {
  float buffer[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) buffer[i] = i < count ? static_cast<float>(p[i]) : fill;
  return load(buffer);
}

template <typename T>
COHORT_INLINE void store_part(T* p, Vec v, int64_t count) {
  T buffer[kLanes];
  store(buffer, v);
  std::memcpy(p, buffer, count * sizeof(T));
}

COHORT_INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }

/// The upper half of v's first 2n lanes, over the lower.
template <int n, int... i>
COHORT_INLINE Vec upper_half(Vec v, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(v, v, (i < n ? i + n : i)...);
}

/// Lane 0 of f(f(v's halves)...), in a fixed tree.
template <int n = kLanes / 2, typename F>
COHORT_INLINE float reduce(Vec v, F f) {
  v = f(v, upper_half<n>(v, std::make_integer_sequence<int, kLanes>()));
  if constexpr (n == 1) {
    return v[0];
  } else {
    return reduce<n / 2>(v, f);
  }
}

COHORT_INLINE float sum(Vec v) {
  return reduce(v, [](Vec a, Vec b) __attribute__((always_inline)) { return a + b; });
}

COHORT_INLINE float max(Vec v) {
  return reduce(v, [](Vec a, Vec b) __attribute__((always_inline)) { return max(a, b); });
}

/// e^x with a relative error below 2e-7; 0 below -87.3 (so -inf gives 0), saturating above 88.
COHORT_INLINE Vec exp(Vec x) {
  const Vec low = broadcast(-87.3f), high = broadcast(88.0f);
  const IntVec underflow = x < low;
  x = x < low ? low : x;
  x = x > high ? high : x;
  // x = n ln 2 + r with |r| <= ln 2 / 2; adding 1.5 * 2^23 rounds to an integer.
  const Vec magic = broadcast(12582912.0f);
  const Vec n = (x * 1.44269504088896341f + magic) - magic;
  const Vec r = (x - n * 0.693145751953125f) - n * 1.42860682030941723212e-6f;
  Vec p = broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const IntVec power = (__builtin_convertvector(n, IntVec) + 127) << 23;
  const Vec result = p * reinterpret_cast<Vec>(power);
  return underflow ? Vec{} : result;
}

/// 1 / x with a relative error below 2e-7, for finite x of at least 1.
COHORT_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  const Vec estimate = _mm512_maskz_rcp14_ps(0xffff, x);  // without the mask GCC 12 warns
  return estimate + estimate * (1.0f - x * estimate);
#else
  return 1.0f / x;
#endif
}

/// tanh with a relative error below 3e-7: an odd polynomial near 0, where the quotient would cancel.
COHORT_INLINE Vec tanh(Vec x) {
  const Vec size = x < Vec{} ? -x : x;
  const Vec square = x * x;
  Vec p = broadcast(-5.70498872745e-3f);
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const Vec near = p * square * x + x;
  const Vec far = 1.0f - 2.0f * reciprocal(exp(size + size) + 1.0f);
  return size < broadcast(0.625f) ? near : (x < Vec{} ? -far : far);
}

}  // namespace cohort::COHORT_ARCH::simd
