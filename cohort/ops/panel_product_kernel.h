// The CPU's products of rows with a weight and what their backward needs: float32, and bfloat16 by dot
// products of pairs where the processor has fast ones, else in float32 arithmetic. A result is one float32
// chain in the order of the inputs (of long rows the sum of such chains, piece by piece; of bfloat16 on a
// matrix unit in chunks of 32 inputs), rounded once, so it has the same bits for any number of rows and
// threads. T is float or c10::BFloat16.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#include "cohort/ops/cpu_arch.h"

namespace cohort {

COHORT_DECLARE_KERNELS(
    // Elements of the panels that hold a weight [out, in]: `out` is filled up with zeros.
    int64_t panel_elements(int64_t out, int64_t in);

    // weight [out, in] -> panels [out / width, in, width], width as the registers want it. Few rows read half
    // as many bytes of a bfloat16 weight.
    template <typename T> void pack_panels(const T* weight, T* panels, int64_t out, int64_t in);

    // The weight that the panels were packed from.
    template <typename T> void unpack_panels(const T* panels, T* weight, int64_t out, int64_t in);

    // The panels of the transpose of matrix [in, out], rounded to T: pack_panels without the transposition.
    template <typename Matrix, typename T>
    void pack_panels_of_transpose(const Matrix* matrix, T* panels, int64_t out, int64_t in);

    // x [rows, in], bias [out] or null -> y [rows, out] = x W^T + bias, rounded once.
    template <typename T> void panel_product(const T* x, const T* panels, const float* bias, T* y,
                                             int64_t rows, int64_t out, int64_t in);

    // x [in, rows] -> y [rows, out] += x^T W^T.
    template <typename T> void add_product_of_transpose(const T* x, const T* panels, float* y, int64_t rows,
                                                        int64_t out, int64_t in);)

}  // namespace cohort
