#include "cohort/tensor/compute.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "cohort/core/error.h"

namespace cohort {

at::ScalarType parse_dtype(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  throw ConfigError(cohort::str("dtype \"", name, "\" is unknown: give float32 or bfloat16"));
}

at::Device parse_device(const std::string& name) {
  if (name != "cpu" && name != "cuda") {
    throw ConfigError(cohort::str("device \"", name, "\" is unknown: give cpu or cuda"));
  }
  if (name == "cuda" && !at::hasCUDA()) {
    throw ConfigError(
        "device \"cuda\": no CUDA device is found; a program that was built without an NVIDIA driver uses "
        "none (make "
        "build links CUDA where it finds one)");
  }
  return at::Device(name);
}

void set_threads(int64_t threads) {
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

}  // namespace cohort
