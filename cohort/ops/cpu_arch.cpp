#include "cohort/ops/cpu_arch.h"

namespace cohort {

CpuArch cpu_arch() {
#if defined(__x86_64__)
  static const CpuArch arch = [] {
    __builtin_cpu_init();
    const bool has_avx512 = __builtin_cpu_supports("x86-64-v4") != 0;
    if (has_avx512 && __builtin_cpu_supports("avx512bf16")) return CpuArch::kAvx512Bf16;
    if (has_avx512) return CpuArch::kAvx512;
    if (__builtin_cpu_supports("x86-64-v3")) return CpuArch::kAvx2;
    return CpuArch::kBase;
  }();
  return arch;
#else
  return CpuArch::kBase;
#endif
}

}  // namespace cohort
