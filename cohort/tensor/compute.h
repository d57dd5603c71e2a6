// Where and in which dtype to compute, as recipes and flags name it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace cohort {

/// "float32" or "bfloat16". Throws ConfigError for anything else.
at::ScalarType parse_dtype(const std::string& name);

/// "cpu" or "cuda". Throws ConfigError for anything else, and for cuda where torch finds no device.
at::Device parse_device(const std::string& name);

/// Threads of the CPU kernels; 0 keeps torch's choice: OMP_NUM_THREADS where it is set, else all cores.
void set_threads(int64_t threads);

}  // namespace cohort
