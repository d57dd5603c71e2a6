// Kernels over single rows on every instruction set that the machine has.
#include "cohort/ops/row_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cohort/ops/vocabulary_kernel.h"

#if !defined(COHORT_ONE_ARCH)

namespace cohort {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Runs the statements for each instruction set that the machine has: `arch` is its number, `call` its
/// kernel.
#define COHORT_FOR_EACH_ARCH(kernel, ...)                                                                    \
  {                                                                                                          \
    const auto kernels = {&base::kernel, &avx2::kernel, &avx512::kernel, &avx512bf16::kernel, &amx::kernel}; \
    for (int arch = 0; arch < std::ssize(kernels); ++arch) {                                                 \
      if (!runs_on_this_machine(static_cast<CpuArch>(arch))) continue;                                       \
      const auto call = kernels.begin()[arch];                                                               \
      SCOPED_TRACE(arch);                                                                                    \
      __VA_ARGS__                                                                                            \
    }                                                                                                        \
  }

struct Reference {
  double log_sum_exp, entropy;
};

Reference reference(const std::vector<float>& x) {
  double largest = -kInfinity, total = 0.0, entropy = 0.0;
  for (const float v : x) largest = std::max<double>(largest, v);
  for (const float v : x) total += std::exp(v - largest);
  const double lse = largest + std::log(total);
  for (const float v : x) {
    if (v > -kInfinity) entropy -= std::exp(v - lse) * (v - lse);
  }
  return {lse, entropy};
}

/// Rows of all lengths around the registers' and of a vocabulary's; some values removed, as a filter does.
std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> rows;
  for (int64_t count = 1; count <= 70; ++count) rows.emplace_back(count);
  rows.emplace_back(5003);
  for (auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = i % 7 == 3 ? -kInfinity : 9.0f * std::sin(static_cast<float>(i * i % 1000 + row.size()));
    }
  }
  return rows;
}

TEST(RowKernels, LogSumExpHasTheSameBitsBesideTheEntropy) {
  std::vector<std::vector<float>> values(static_cast<int>(CpuArch::kAmx) + 1);
  COHORT_FOR_EACH_ARCH(
      log_sum_exp, for (const auto& row : rows()) values[arch].push_back(call(row.data(), std::ssize(row)));)
  COHORT_FOR_EACH_ARCH(
      log_sum_exp_and_entropy, size_t i = 0; for (const auto& row : rows()) {
        float entropy = -1.0f;
        const float lse = call(row.data(), std::ssize(row), &entropy);
        const Reference expected = reference(row);
        ASSERT_EQ(std::bit_cast<uint32_t>(lse), std::bit_cast<uint32_t>(values[arch][i++])) << row.size();
        ASSERT_NEAR(lse, expected.log_sum_exp, 2e-6 * (1.0 + std::abs(expected.log_sum_exp))) << row.size();
        ASSERT_NEAR(entropy, expected.entropy, 1e-5) << row.size();
      })
}

TEST(RowKernels, EntropyOfOneCandidateIsZero) {
  COHORT_FOR_EACH_ARCH(
      log_sum_exp_and_entropy,
      for (const auto& row : {std::vector<float>{-3.5f}, std::vector<float>{-kInfinity, 80.0f, -kInfinity}}) {
        float entropy = -1.0f;
        call(row.data(), std::ssize(row), &entropy);
        EXPECT_EQ(entropy, 0.0f);
      })
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(RowKernels, ActivationsHoldFarFromZero) {
  std::vector<float> gates;
  for (const float size : {0.0f, 1e-6f, 0.1f, 0.7f, 1.0f, 5.0f, 20.0f, 87.0f, 88.0f, 89.0f, 100.0f, 1e4f}) {
    gates.push_back(size);
    gates.push_back(-size);
  }
  const int64_t width = std::ssize(gates);
  std::vector<float> gate_up(gates);
  gate_up.resize(2 * width, 1.0f);
  for (const auto& [kind, exact] :
       {std::pair(Activation::kSilu, &silu), {Activation::kGeluTanh, &gelu_tanh}}) {
    COHORT_FOR_EACH_ARCH(
        gated_activation<float>, std::vector<float> y(width); call(kind, gate_up.data(), y.data(), 1, width);
        for (int64_t i = 0; i < width; ++i) {
          const double expected = exact(gates[i]);
          ASSERT_NEAR(y[i], expected, 1e-6 * std::abs(expected) + 1e-7) << gates[i];
        })
  }
}

#undef COHORT_FOR_EACH_ARCH

}  // namespace
}  // namespace cohort

#endif
