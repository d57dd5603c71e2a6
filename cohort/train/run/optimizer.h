// AdamW with decoupled weight decay (arXiv:1711.05101 algorithm 2) and gradient clipping.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/tensor/safetensors.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

class AdamW {
 public:
  /// Optimises leaves in place; moments are in the leaves' dtype. Weight decay leaves vectors (norms, biases)
  /// alone, as transformers does.
  AdamW(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// Sets all gradients to zero, making them where they are missing.
  void zero_grad();

  /// The Euclidean norm of the whole gradient; not finite when any element is not. The same for any number of
  /// threads.
  double grad_norm() const;

  /// One update. The gradient is scaled down first where `norm` exceeds max_grad_norm (0: never).
  void step(double learning_rate, double norm);

  int64_t num_updates() const { return num_updates_; }

  /// The moments, and back again; for checkpoints.
  NamedTensors save() const;
  void load(const SafetensorsFile& file, int64_t num_updates);

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> exp_avg_;
  std::vector<at::Tensor> exp_avg_sq_;
  std::vector<at::Tensor> steps_;  // what the fused kernel counts updates in: one float a leaf
  OptimizerConfig config_;
  int64_t num_updates_ = 0;
};

}  // namespace cohort
