#include "cohort/ops/cpu_arch.h"

#include <cstdlib>
#include <vector>

#include "cohort/core/error.h"
#include "libs/common/str.h"

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

constexpr const char* kVariable = "COHORT_CPU_ARCH";
constexpr CpuArch kAll[] = {CpuArch::kBase, CpuArch::kAvx2, CpuArch::kAvx512, CpuArch::kAvx512Bf16,
                            CpuArch::kAmx};

/// COHORT_CPU_ARCH, or null if it is empty or not set.
const char* wanted_name() {
  const char* name = std::getenv(kVariable);
  return name != nullptr && *name != '\0' ? name : nullptr;
}

std::string names_on_this_machine() {
  std::string names;
  for (const CpuArch arch : kAll) {
    if (runs_on_this_machine(arch)) names += str(names.empty() ? "" : ", ", name_of(arch));
  }
  return names;
}

CpuArch arch_named(const std::string& name) {
  for (const CpuArch arch : kAll) {
    if (name != name_of(arch)) continue;
    if (!runs_on_this_machine(arch))
      throw ConfigError(str(kVariable, "=", name, ": this machine does not run it; choose one of ",
                            names_on_this_machine()));
    return arch;
  }
  throw ConfigError(
      str(kVariable, ": unknown instruction set \"", name, "\"; choose one of ", names_on_this_machine()));
}

CpuArch fastest_arch() {
  if (runs_on_this_machine(CpuArch::kAmx)) return CpuArch::kAmx;
#if defined(__x86_64__)
  if (runs_on_this_machine(CpuArch::kAvx512Bf16) && !has_slow_bfloat16_dots()) return CpuArch::kAvx512Bf16;
#endif
  if (runs_on_this_machine(CpuArch::kAvx512)) return CpuArch::kAvx512;
  if (runs_on_this_machine(CpuArch::kAvx2)) return CpuArch::kAvx2;
  return CpuArch::kBase;
}

/// The variables by which the libraries limit themselves, and their values up to an instruction set.
struct LibraryLimit {
  const char* torch;   ///< ATEN_CPU_CAPABILITY
  const char* mkl;     ///< MKL_ENABLE_INSTRUCTIONS
  const char* onednn;  ///< ONEDNN_MAX_CPU_ISA
};

LibraryLimit limit_of(CpuArch arch) {
  switch (arch) {
    case CpuArch::kBase:
      return {"default", "SSE4_2", "SSE41"};
    case CpuArch::kAvx2:
      return {"avx2", "AVX2", "AVX2"};
    case CpuArch::kAvx512:
      return {"avx512", "AVX512", "AVX512_CORE"};
    case CpuArch::kAvx512Bf16:
      return {"avx512", "AVX512_E3", "AVX512_CORE_BF16"};
    case CpuArch::kAmx:
      break;
  }
  return {"avx512", "AVX512_E4", "AVX512_CORE_AMX"};
}

}  // namespace

const char* name_of(CpuArch arch) {
  constexpr const char* kNames[] = {"base", "avx2", "avx512", "avx512bf16", "amx"};
  return kNames[static_cast<int>(arch)];
}

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
  static const CpuArch arch = wanted_name() != nullptr ? arch_named(wanted_name()) : fastest_arch();
  return arch;
}

std::string describe_cpu_arch() {
  return str(name_of(cpu_arch()), wanted_name() != nullptr ? str(" (chosen by ", kVariable, "; ") : " (",
             "this machine runs ", names_on_this_machine(), ")");
}

void limit_libraries_to_cpu_arch() {
  if (wanted_name() == nullptr) return;
  const LibraryLimit limit = limit_of(cpu_arch());
  setenv("ATEN_CPU_CAPABILITY", limit.torch, 0);
  setenv("MKL_ENABLE_INSTRUCTIONS", limit.mkl, 0);
  setenv("ONEDNN_MAX_CPU_ISA", limit.onednn, 0);
}

}  // namespace cohort
