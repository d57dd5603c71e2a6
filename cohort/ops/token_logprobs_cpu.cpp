#include <cmath>
#include <limits>

#include "cohort/ops/simd.h"
#include "cohort/ops/vocabulary_kernel.h"

namespace cohort::COHORT_ARCH {
namespace {

using namespace simd;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Folds f(block) over the row; the last, partial block is filled up with -inf, whose exponential is 0.
template <typename F>
COHORT_INLINE void for_filled_blocks(const float* x, int64_t count, F f) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) f(load(x + i));
  if (i < count) f(load_part(x + i, count - i, kMinusInfinity));
}

/// log(sum e^x) of `count` floats; where asked, also the entropy of their softmax in nats:
/// log S - sum e^(x - m) (x - m) / S, with S = sum e^(x - m) and m the largest.
template <bool has_entropy>
COHORT_INLINE float row_log_sum_exp(const float* x, int64_t count, float* entropy) {
  Vec largest = broadcast(kMinusInfinity);
  for_filled_blocks(x, count, [&](Vec v) __attribute__((always_inline)) { largest = max(largest, v); });
  const float maximum = max(largest);
  Vec total{}, weighted{};
  for_filled_blocks(x, count, [&](Vec v) __attribute__((always_inline)) {
    const Vec below = v - maximum;
    const Vec power = exp(below);
    total += power;
    if constexpr (has_entropy) weighted += power > Vec{} ? power * below : Vec{};  // 0 * -inf is no number
  });
  const float powers = sum(total), log_powers = std::log(powers);
  if constexpr (has_entropy) *entropy = log_powers - sum(weighted) / powers;
  return maximum + log_powers;
}

}  // namespace

float log_sum_exp(const float* x, int64_t count) { return row_log_sum_exp<false>(x, count, nullptr); }

float log_sum_exp_and_entropy(const float* x, int64_t count, float* entropy) {
  return row_log_sum_exp<true>(x, count, entropy);
}

template <typename T>
void scale_logits(const T* products, float* logits, int64_t count, float softcap, float temperature) {
  const float inverse = 1.0f / softcap;
  const auto scaled = [&](Vec v) __attribute__((always_inline)) {
    if (softcap > 0.0f) v = tanh(v * inverse) * softcap;
    return temperature == 1.0f ? v : v / temperature;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(logits + i, scaled(load(products + i)));
  if (i < count) store_part(logits + i, scaled(load_part(products + i, count - i)), count - i);
}

template <typename T>
void round_row(const float* x, T* rounded, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(rounded + i, load(x + i));
  if (i < count) store_part(rounded + i, load_part(x + i, count - i), count - i);
}

#define COHORT_INSTANTIATE(T)                                             \
  template void scale_logits<T>(const T*, float*, int64_t, float, float); \
  template void round_row<T>(const float*, T*, int64_t);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(c10::BFloat16)
#undef COHORT_INSTANTIATE

void probabilities(const float* x, int64_t count, float log_sum_exp, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, exp(load(x + i) - log_sum_exp));
  if (i < count)
    store_part(out + i, exp(load_part(x + i, count - i, kMinusInfinity) - log_sum_exp), count - i);
}

void softmax_gradient(float* x, int64_t count, float log_sum_exp, int64_t target, float coefficient) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, exp(load(x + i) - log_sum_exp) * coefficient);
  if (i < count) {
    store_part(x + i, exp(load_part(x + i, count - i, kMinusInfinity) - log_sum_exp) * coefficient,
               count - i);
  }
  x[target] -= coefficient;
}

void softmax_entropy_gradient(float* x, int64_t count, float log_sum_exp, int64_t target, float coefficient,
                              float entropy, float entropy_coefficient) {
  // The entropy's derivative is -p * (log p + entropy).
  const auto gradient = [&](Vec v) __attribute__((always_inline)) {
    const Vec logprob = v - log_sum_exp;
    const Vec p = exp(logprob);
    return p > Vec{} ? p * (coefficient - entropy_coefficient * (logprob + entropy)) : Vec{};
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, gradient(load(x + i)));
  if (i < count) store_part(x + i, gradient(load_part(x + i, count - i, kMinusInfinity)), count - i);
  x[target] -= coefficient;
}

void block_sums(const float* x, int64_t count, float log_sum_exp, float* sums) {
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    Vec total{};
    for_filled_blocks(x + begin, std::min(kSumBlock, count - begin),
                      [&](Vec v) __attribute__((always_inline)) { total += exp(v - log_sum_exp); });
    sums[begin / kSumBlock] = sum(total);
  }
}

}  // namespace cohort::COHORT_ARCH
