#include <ATen/Parallel.h>

#include <cmath>
#include <vector>

#include "cohort/ops/row_kernels.h"
#include "cohort/ops/simd.h"

namespace cohort::COHORT_ARCH {
namespace {

using namespace simd;

/// Calls f(column, count) for each block of kLanes columns; count < kLanes in the last, partial one.
template <typename F>
COHORT_INLINE void for_blocks(int64_t width, F f) {
  int64_t column = 0;
  for (; column + kLanes <= width; column += kLanes) f(column, kLanes);
  if (column < width) f(column, width - column);
}

template <typename T>
COHORT_INLINE Vec load_block(const T* p, int64_t count) {
  return count == kLanes ? load(p) : load_part(p, count);
}

template <typename T>
COHORT_INLINE void store_block(T* p, Vec v, int64_t count) {
  if (count == kLanes) {
    store(p, v);
  } else {
    store_part(p, v, count);
  }
}

template <typename T>
COHORT_INLINE float inverse_rms(const T* x, int64_t width, float epsilon) {
  Vec squares{};
  for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
    const Vec v = load_block(x + c, count);
    squares += v * v;
  });
  return 1.0f / std::sqrt(sum(squares) / static_cast<float>(width) + epsilon);
}

template <typename T>
COHORT_INLINE void rms_norm_rows(const T* x, const float* weight, T* y, int64_t begin, int64_t end,
                                 int64_t width, float epsilon) {
  for (int64_t row = begin; row < end; ++row) {
    const T* in = x + row * width;
    T* out = y + row * width;
    const float scale = inverse_rms(in, width, epsilon);
    for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
      store_block(out + c, load_block(in + c, count) * scale * load_block(weight + c, count), count);
    });
  }
}

template <typename T>
COHORT_INLINE void rms_norm_backward_rows(const T* x, const float* weight, const T* grad_y, T* grad_x, T* y,
                                          float* grad_weight, int64_t begin, int64_t end, int64_t width,
                                          float epsilon) {
  for (int64_t row = begin; row < end; ++row) {
    const T* in = x + row * width;
    const T* grad = grad_y + row * width;
    T* out = grad_x + row * width;
    const float scale = inverse_rms(in, width, epsilon);
    Vec dot{};
    for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
      const Vec normed = load_block(in + c, count) * scale;
      const Vec g = load_block(grad + c, count);
      dot += g * load_block(weight + c, count) * normed;
      store_block(grad_weight + c, load_block(grad_weight + c, count) + g * normed, count);
    });
    const float mean = sum(dot) / static_cast<float>(width);
    for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
      const Vec normed = load_block(in + c, count) * scale, factor = load_block(weight + c, count);
      const Vec g = load_block(grad + c, count) * factor;
      store_block(out + c, (g - normed * mean) * scale, count);
      store_block(y + row * width + c, normed * factor, count);
    });
  }
}

/// A gate's activation and its derivative.
struct Activated {
  Vec value, slope;
};

COHORT_INLINE Activated silu(Vec x) {
  const Vec sigmoid = reciprocal(1.0f + exp(-x));
  const Vec value = x * sigmoid;
  return {value, sigmoid + value * (1.0f - sigmoid)};
}

COHORT_INLINE Activated gelu_tanh(Vec x) {
  constexpr float kScale = 0.79788456080286536f, kCubic = 0.044715f;  // sqrt(2 / pi)
  const Vec square = x * x;
  const Vec t = tanh(kScale * x * (1.0f + kCubic * square));
  const Vec inner_slope = kScale * (1.0f + 3.0f * kCubic * square);
  return {0.5f * x * (1.0f + t), 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner_slope};
}

template <Activation activation>
COHORT_INLINE Activated activate(Vec x) {
  return activation == Activation::kSilu ? silu(x) : gelu_tanh(x);
}

template <Activation activation, typename T>
COHORT_INLINE void gated_activation_rows(const T* gate_up, T* y, int64_t begin, int64_t end, int64_t width) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = gate_up + row * 2 * width;
    const T* up = gate + width;
    for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
      const Activated g = activate<activation>(load_block(gate + c, count));
      store_block(y + row * width + c, g.value * load_block(up + c, count), count);
    });
  }
}

template <Activation activation, typename T>
COHORT_INLINE void gated_activation_backward_rows(const T* gate_up, const T* grad_y, T* grad_gate_up, T* y,
                                                  int64_t begin, int64_t end, int64_t width) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = gate_up + row * 2 * width;
    const T* up = gate + width;
    T* grad_gate = grad_gate_up + row * 2 * width;
    T* grad_up = grad_gate + width;
    for_blocks(width, [&](int64_t c, int64_t count) __attribute__((always_inline)) {
      const Activated g = activate<activation>(load_block(gate + c, count));
      const Vec grad = load_block(grad_y + row * width + c, count), factor = load_block(up + c, count);
      store_block(grad_up + c, grad * g.value, count);
      store_block(grad_gate + c, grad * factor * g.slope, count);
      store_block(y + row * width + c, g.value * factor, count);
    });
  }
}

constexpr int64_t kGrainElements = 32768;  // below this, waking another thread costs more than it saves

int64_t grain(int64_t width) { return std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, width)); }

}  // namespace

template <typename T>
void rms_norm(const T* x, const float* weight, T* y, int64_t rows, int64_t width, float epsilon) {
  at::parallel_for(0, rows, grain(width), [&](int64_t begin, int64_t end) {
    rms_norm_rows(x, weight, y, begin, end, width, epsilon);
  });
}

template <typename T>
void rms_norm_backward(const T* x, const float* weight, const T* grad_y, T* grad_x, T* y, float* grad_weight,
                       int64_t rows, int64_t width, float epsilon) {
  // Blocks of a fixed size, added in order: the sum does not depend on the number of threads.
  constexpr int64_t kBlockRows = 128;
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  std::vector<float> partial(blocks * width, 0.0f);
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      rms_norm_backward_rows(x, weight, grad_y, grad_x, y, partial.data() + block * width, block * kBlockRows,
                             std::min(rows, (block + 1) * kBlockRows), width, epsilon);
    }
  });
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t c = 0; c < width; ++c) grad_weight[c] += partial[block * width + c];
  }
}

template <typename T>
void gated_activation(Activation activation, const T* gate_up, T* y, int64_t rows, int64_t width) {
  at::parallel_for(0, rows, grain(width), [&](int64_t begin, int64_t end) {
    if (activation == Activation::kSilu) {
      gated_activation_rows<Activation::kSilu>(gate_up, y, begin, end, width);
    } else {
      gated_activation_rows<Activation::kGeluTanh>(gate_up, y, begin, end, width);
    }
  });
}

template <typename T>
void gated_activation_backward(Activation activation, const T* gate_up, const T* grad_y, T* grad_gate_up,
                               T* y, int64_t rows, int64_t width) {
  at::parallel_for(0, rows, grain(width), [&](int64_t begin, int64_t end) {
    if (activation == Activation::kSilu) {
      gated_activation_backward_rows<Activation::kSilu>(gate_up, grad_y, grad_gate_up, y, begin, end, width);
    } else {
      gated_activation_backward_rows<Activation::kGeluTanh>(gate_up, grad_y, grad_gate_up, y, begin, end,
                                                            width);
    }
  });
}

#define COHORT_INSTANTIATE(T)                                                                            \
  template void rms_norm<T>(const T*, const float*, T*, int64_t, int64_t, float);                        \
  template void rms_norm_backward<T>(const T*, const float*, const T*, T*, T*, float*, int64_t, int64_t, \
                                     float);                                                             \
  template void gated_activation<T>(Activation, const T*, T*, int64_t, int64_t);                         \
  template void gated_activation_backward<T>(Activation, const T*, const T*, T*, T*, int64_t, int64_t);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
