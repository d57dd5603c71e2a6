// The CPU kernels over one row of logits: one order of arithmetic, the same in sampler and trainer.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#include "cohort/ops/cpu_arch.h"

namespace cohort {

constexpr int64_t kSumBlock = 256;  ///< elements of one partial sum of block_sums

COHORT_DECLARE_KERNELS_WITHOUT_TILES(
    // log(sum(exp(x))) of `count` floats, in a fixed order.
    float log_sum_exp(const float* x, int64_t count);

    // The same bits, and the entropy of softmax(x) in nats.
    float log_sum_exp_and_entropy(const float* x, int64_t count, float* entropy);

    // Overwrites x with coefficient * (softmax(x) - onehot(target)).
    void softmax_gradient(float* x, int64_t count, float log_sum_exp, int64_t target, float coefficient);

    // Overwrites x with coefficient * (softmax(x) - onehot(target)) + entropy_coefficient * d entropy / d x,
    // given the row's entropy.
    void softmax_entropy_gradient(float* x, int64_t count, float log_sum_exp, int64_t target,
                                  float coefficient, float entropy, float entropy_coefficient);

    // Running sums of exp(x - log_sum_exp) over blocks of `kSumBlock` elements: sums[b] covers block b.
    // Written for count / kSumBlock (rounded up) blocks.
    void block_sums(const float* x, int64_t count, float log_sum_exp, float* sums);

    // Products of a head -> logits: softcap * tanh(x / softcap) where softcap is not 0, over the temperature.
    // T is float or c10::BFloat16.
    template <typename T>
    void scale_logits(const T* products, float* logits, int64_t count, float softcap, float temperature);

    // Rounds each element to T.
    template <typename T> void round_row(const float* x, T* rounded, int64_t count);

    // Writes exp(x - log_sum_exp) of `count` elements.
    void probabilities(const float* x, int64_t count, float log_sum_exp, float* out);)

}  // namespace cohort
