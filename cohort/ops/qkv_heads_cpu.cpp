#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cohort/ops/qkv_heads_kernel.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

// Plain loops over a head: the compiler vectorises them; sums take a fixed order (16 strided partial sums,
// then a tree).
COHORT_INLINE float dot(const float* a, const float* b, int64_t n) {
  float partial[simd::kLanes] = {};
  int64_t i = 0;
  for (; i + simd::kLanes <= n; i += simd::kLanes) {
    for (int64_t lane = 0; lane < simd::kLanes; ++lane) partial[lane] += a[i + lane] * b[i + lane];
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) partial[lane] += a[i] * b[i];
  return simd::sum(simd::load(partial));
}

template <typename T>
COHORT_INLINE void to_float(const T* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

template <typename T>
COHORT_INLINE void from_float(const float* in, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(in[i]);
}

/// Rotates by the angle (direction 1) or back (direction -1).
COHORT_INLINE void rotate(const float* x, const float* cos, const float* sin, float direction, float* y,
                          int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half], s = direction * sin[i];
    y[i] = a * cos[i] - b * s;
    y[i + half] = b * cos[i] + a * s;
  }
}

struct Scratch {
  explicit Scratch(int64_t dim) : x(dim), y(dim), z(dim) {}
  std::vector<float> x, y, z;
};

template <typename T>
COHORT_INLINE void forward_head(const QkvKernelArguments& a, const T* in, const float* norm, int64_t row,
                                T* out, Scratch& s) {
  const int64_t dim = a.head_dim, half = dim / 2;
  to_float(in, s.x.data(), dim);
  if (norm != nullptr) {
    const float scale =
        1.0f / std::sqrt(dot(s.x.data(), s.x.data(), dim) / static_cast<float>(dim) + a.epsilon);
    for (int64_t i = 0; i < dim; ++i) s.x[i] = s.x[i] * scale * norm[i];
  }
  rotate(s.x.data(), a.cos + a.positions[row] * half, a.sin + a.positions[row] * half, 1.0f, s.y.data(),
         half);
  from_float(s.y.data(), out, dim);
}

template <typename T>
COHORT_INLINE void forward_rows(const QkvKernelArguments& a, const T* qkv, T* q, T* k, T* v, int64_t begin,
                                int64_t end) {
  Scratch scratch(a.head_dim);
  const int64_t dim = a.head_dim, width = (a.num_heads + 2 * a.num_kv_heads) * dim;
  for (int64_t row = begin; row < end; ++row) {
    const T* in = qkv + row * width;
    for (int64_t h = 0; h < a.num_heads; ++h) {
      forward_head(a, in + h * dim, a.q_norm, row, q + (row * a.num_heads + h) * dim, scratch);
    }
    in += a.num_heads * dim;
    for (int64_t h = 0; h < a.num_kv_heads; ++h) {
      forward_head(a, in + h * dim, a.k_norm, row, k + (row * a.num_kv_heads + h) * dim, scratch);
    }
    in += a.num_kv_heads * dim;
    std::copy(in, in + a.num_kv_heads * dim, v + row * a.num_kv_heads * dim);
  }
}

template <typename T>
COHORT_INLINE void backward_head(const QkvKernelArguments& a, const T* in, const T* grad, const float* norm,
                                 float* grad_norm, int64_t row, T* out, Scratch& s) {
  const int64_t dim = a.head_dim, half = dim / 2;
  to_float(grad, s.x.data(), dim);
  rotate(s.x.data(), a.cos + a.positions[row] * half, a.sin + a.positions[row] * half, -1.0f, s.y.data(),
         half);
  if (norm != nullptr) {
    to_float(in, s.x.data(), dim);
    const float scale =
        1.0f / std::sqrt(dot(s.x.data(), s.x.data(), dim) / static_cast<float>(dim) + a.epsilon);
    for (int64_t i = 0; i < dim; ++i) {
      s.x[i] *= scale;
      grad_norm[i] += s.y[i] * s.x[i];
      s.z[i] = s.y[i] * norm[i];
    }
    const float mean = dot(s.z.data(), s.x.data(), dim) / static_cast<float>(dim);
    for (int64_t i = 0; i < dim; ++i) s.y[i] = (s.z[i] - s.x[i] * mean) * scale;
  }
  from_float(s.y.data(), out, dim);
}

template <typename T>
COHORT_INLINE void backward_rows(const QkvKernelArguments& a, const T* qkv, const T* grad_q, const T* grad_k,
                                 const T* grad_v, T* grad_qkv, float* grad_norms, int64_t begin,
                                 int64_t end) {
  Scratch scratch(a.head_dim);
  const int64_t dim = a.head_dim, width = (a.num_heads + 2 * a.num_kv_heads) * dim;
  for (int64_t row = begin; row < end; ++row) {
    int64_t offset = row * width;
    for (int64_t h = 0; h < a.num_heads; ++h, offset += dim) {
      backward_head(a, qkv + offset, grad_q + (row * a.num_heads + h) * dim, a.q_norm, grad_norms, row,
                    grad_qkv + offset, scratch);
    }
    for (int64_t h = 0; h < a.num_kv_heads; ++h, offset += dim) {
      backward_head(a, qkv + offset, grad_k + (row * a.num_kv_heads + h) * dim, a.k_norm, grad_norms + dim,
                    row, grad_qkv + offset, scratch);
    }
    const T* grad = grad_v + row * a.num_kv_heads * dim;
    std::copy(grad, grad + a.num_kv_heads * dim, grad_qkv + offset);
  }
}

constexpr int64_t kGrainRows = 16;

}  // namespace

template <typename T>
void qkv_heads_kernel(const QkvKernelArguments& arguments, const T* qkv, T* q, T* k, T* v) {
  at::parallel_for(0, arguments.rows, kGrainRows,
                   [&](int64_t begin, int64_t end) { forward_rows(arguments, qkv, q, k, v, begin, end); });
}

template <typename T>
void qkv_heads_backward_kernel(const QkvKernelArguments& arguments, const T* qkv, const T* grad_q,
                               const T* grad_k, const T* grad_v, T* grad_qkv, float* grad_norms) {
  constexpr int64_t kBlockRows =
      128;  // fixed, so that the norms' gradients do not depend on the number of threads
  const int64_t blocks = (arguments.rows + kBlockRows - 1) / kBlockRows, width = 2 * arguments.head_dim;
  std::vector<float> partial(blocks * width, 0.0f);
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * kBlockRows, end = std::min(arguments.rows, begin + kBlockRows);
      float* norms = partial.data() + block * width;
      backward_rows(arguments, qkv, grad_q, grad_k, grad_v, grad_qkv, norms, begin, end);
    }
  });
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < width; ++i) grad_norms[i] += partial[block * width + i];
  }
}

#define COHORT_INSTANTIATE(T)                                                                         \
  template void qkv_heads_backward_kernel<T>(const QkvKernelArguments&, const T*, const T*, const T*, \
                                             const T*, T*, float*);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE
template void qkv_heads_kernel(const QkvKernelArguments&, const float*, float*, float*, float*);
template void qkv_heads_kernel(const QkvKernelArguments&, const at::BFloat16*, at::BFloat16*, at::BFloat16*,
                               at::BFloat16*);

}  // namespace cohort::COHORT_ARCH
