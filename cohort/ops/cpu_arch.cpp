#include "cohort/ops/cpu_arch.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cohort {
namespace {

#if defined(__x86_64__)
/// Linux lends the matrix unit's registers to a process that asks for them.
bool may_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Intel's processors since Sapphire Rapids, the first ones with half precision, begin a dot product of
/// bfloat16 pairs every second cycle: half the arithmetic of their two float32 units. They have a matrix unit
/// for that, which a virtual machine may hide.
bool has_slow_bfloat16_dots() { return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16"); }
#endif

}  // namespace

CpuArch cpu_arch() {
#if defined(__x86_64__)
  static const CpuArch arch = [] {
    __builtin_cpu_init();
    const bool has_avx512 = __builtin_cpu_supports("x86-64-v4") != 0;
    const bool has_bfloat16 = has_avx512 && __builtin_cpu_supports("avx512bf16");
    if (has_bfloat16 && __builtin_cpu_supports("amx-bf16") && may_use_tiles()) return CpuArch::kAmx;
    if (has_bfloat16 && !has_slow_bfloat16_dots()) return CpuArch::kAvx512Bf16;
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
