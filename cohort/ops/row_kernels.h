// The CPU kernels of the row-wise operations: parallel over rows only, one order of arithmetic per row, so
// that a row's bits do not depend on the other rows or on the number of threads. T is float or at::BFloat16;
// all arithmetic is float32, and a result is rounded once.
#pragma once

#include <cstdint>

#include "cohort/ops/activation.h"
#include "cohort/ops/cpu_arch.h"

namespace cohort {

COHORT_DECLARE_KERNELS_WITHOUT_TILES(
    // x [rows, width], weight [width] -> y [rows, width].
    template <typename T>
    void rms_norm(const T* x, const float* weight, T* y, int64_t rows, int64_t width, float epsilon);

    // Writes grad_x [rows, width] and y again, and adds to grad_weight [width].
    template <typename T>
    void rms_norm_backward(const T* x, const float* weight, const T* grad_y, T* grad_x, T* y,
                           float* grad_weight, int64_t rows, int64_t width, float epsilon);

    // gate_up [rows, 2 width] = gate | up -> y [rows, width].
    template <typename T>
    void gated_activation(Activation activation, const T* gate_up, T* y, int64_t rows, int64_t width);

    // Also gives y again.
    template <typename T>
    void gated_activation_backward(Activation activation, const T* gate_up, const T* grad_y, T* grad_gate_up,
                                   T* y, int64_t rows, int64_t width);)

}  // namespace cohort
