// Models whose weights are a hash of parameter and element index, as tools/make_golden/hashed_model.py makes
// them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {

/// `count` float64 numbers in [-1, 1), a hash of `key` and the index, as the golden scripts make them.
inline at::Tensor hashed(uint64_t key, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = (key << 32) + static_cast<uint64_t>(i) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    values.push_back(static_cast<double>(z >> 40) / 8388608.0 - 1.0);
  }
  return at::tensor(values, at::kDouble);
}

/// What the golden scripts say of the gradient of the parameter that stands at `place` among all names.
inline double hashed_projection(const at::Tensor& gradient, uint64_t place) {
  const at::Tensor values = gradient.to(at::kDouble).flatten();
  return (values * hashed(1000 + place, values.numel())).sum().item<double>();
}

/// Writes the model that a golden file describes in `config` and `parameters`.
inline void write_hashed_model(const Json& golden, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  write_json(directory / "config.json", golden["config"]);
  NamedTensors weights;
  uint64_t key = 0;
  for (const Json& parameter : golden["parameters"]) {
    const auto shape = parameter["shape"].get<std::vector<int64_t>>();
    const at::Tensor values = hashed(key++, c10::multiply_integers(shape)) * parameter["scale"].get<double>();
    weights.emplace_back(parameter["name"].get<std::string>(),
                         (values + parameter["offset"].get<double>()).view(shape).to(at::kFloat));
  }
  write_weights(directory, weights);
}

}  // namespace cohort
