// The instruction sets that the CPU kernels are compiled for, and the choice among them.
#pragma once

#include <string>

namespace cohort {

enum class CpuArch { kBase, kAvx2, kAvx512, kAvx512Bf16, kAmx };

bool runs_on_this_machine(CpuArch arch);

/// The one that the kernels use: COHORT_CPU_ARCH in the environment, or the fastest that this machine runs.
/// Throws ConfigError if the variable names none, or one that this machine does not run.
CpuArch cpu_arch();

/// As COHORT_CPU_ARCH writes it: "base", "avx2", "avx512", "avx512bf16" or "amx".
const char* name_of(CpuArch arch);

/// cpu_arch() for people: "avx2 (chosen by COHORT_CPU_ARCH; this machine runs base, avx2, avx512)".
std::string describe_cpu_arch();

/// Holds torch, MKL and oneDNN to COHORT_CPU_ARCH, by their own variables where the environment does not set
/// them. Call this first: they read their variables once. Throws as cpu_arch() does.
void limit_libraries_to_cpu_arch();

}  // namespace cohort

#if defined(COHORT_ONE_ARCH)  // a processor without variants
#define COHORT_DECLARE_KERNELS(...) \
  namespace base {                  \
  __VA_ARGS__                       \
  }
#define COHORT_DECLARE_KERNELS_WITHOUT_TILES(...) COHORT_DECLARE_KERNELS(__VA_ARGS__)
#define COHORT_CALL_KERNEL(...) ::cohort::base::__VA_ARGS__
#else
namespace cohort {
namespace avx512bf16 {}
/// Kernels that need no matrix unit are not compiled for it: amx::f is avx512bf16::f.
namespace amx {
using namespace avx512bf16;
}
}  // namespace cohort

/// Declares kernels (inside namespace cohort) in the namespace of every instruction set.
#define COHORT_DECLARE_KERNELS(...)                 \
  COHORT_DECLARE_KERNELS_WITHOUT_TILES(__VA_ARGS__) \
  namespace amx {                                   \
  __VA_ARGS__                                       \
  }

/// The same for files that COHORT_TILELESS names in cmake/CohortTargets.cmake.
#define COHORT_DECLARE_KERNELS_WITHOUT_TILES(...) \
  namespace base {                                \
  __VA_ARGS__                                     \
  }                                               \
  namespace avx2 {                                \
  __VA_ARGS__                                     \
  }                                               \
  namespace avx512 {                              \
  __VA_ARGS__                                     \
  }                                               \
  namespace avx512bf16 {                          \
  __VA_ARGS__                                     \
  }

/// Calls a kernel of this machine's instruction set: COHORT_CALL_KERNEL(swiglu<T>(...)).
#define COHORT_CALL_KERNEL(...)                                                                 \
  (::cohort::cpu_arch() == ::cohort::CpuArch::kAmx          ? ::cohort::amx::__VA_ARGS__        \
   : ::cohort::cpu_arch() == ::cohort::CpuArch::kAvx512Bf16 ? ::cohort::avx512bf16::__VA_ARGS__ \
   : ::cohort::cpu_arch() == ::cohort::CpuArch::kAvx512     ? ::cohort::avx512::__VA_ARGS__     \
   : ::cohort::cpu_arch() == ::cohort::CpuArch::kAvx2       ? ::cohort::avx2::__VA_ARGS__       \
                                                            : ::cohort::base::__VA_ARGS__)
#endif
