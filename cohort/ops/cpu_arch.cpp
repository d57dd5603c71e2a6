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
  static const bool result = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return result;
}

/// Intel's processors since Sapphire Rapids, the first ones with half precision, begin a dot product of
/// bfloat16 pairs every second cycle: half the arithmetic of their two float32 units. They have a matrix unit
/// for that, which a virtual machine may hide.
bool has_slow_bfloat16_dots() { return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16"); }
#endif

}  // namespace

bool runs_on_this_machine(CpuArch arch) {
  if (arch == CpuArch::kBase) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (arch == CpuArch::kAvx2) return __builtin_cpu_supports("x86-64-v3");
  const bool has_bfloat16 = __builtin_cpu_supports("avx512bf16");
  const bool has_tiles = __builtin_cpu_supports("amx-bf16") && may_use_tiles();
  return __builtin_cpu_supports("x86-64-v4") && (arch == CpuArch::kAvx512 || has_bfloat16) &&
         (arch != CpuArch::kAmx || has_tiles);
#else
  return false;
#endif
}

CpuArch cpu_arch() {
#if defined(__x86_64__)
  static const CpuArch arch = [] {
    if (runs_on_this_machine(CpuArch::kAmx)) return CpuArch::kAmx;
    if (runs_on_this_machine(CpuArch::kAvx512Bf16) && !has_slow_bfloat16_dots()) return CpuArch::kAvx512Bf16;
    if (runs_on_this_machine(CpuArch::kAvx512)) return CpuArch::kAvx512;
    if (runs_on_this_machine(CpuArch::kAvx2)) return CpuArch::kAvx2;
    return CpuArch::kBase;
  }();
  return arch;
#else
  return CpuArch::kBase;
#endif
}

}  // namespace cohort
