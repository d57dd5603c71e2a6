// AdamW with decoupled weight decay (arXiv:1711.05101 algorithm 2) and gradient clipping.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cohort/dist/shards.h"
#include "cohort/ops/linear.h"
#include "cohort/tensor/safetensors.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

/// Of several processes, each updates a part of the weights and has the moments of that part alone. All of
/// them call the same functions in the same order.
class AdamW {
 public:
  /// Optimises leaves in place; moments are in the leaves' dtype. Weight decay leaves vectors (norms, biases)
  /// alone, as transformers does. `packed`, of several processes: for each leaf the Linear that alone reads
  /// it, or null. Of such a leaf a process keeps its part of the float32 master and the packed copy; the leaf
  /// itself has only sizes from now on.
  AdamW(const std::vector<at::Tensor>& leaves, const OptimizerConfig& config,
        dist::Group& processes = dist::alone(), std::vector<Linear*> packed = {});

  /// Sets all gradients to zero, making them where they are missing.
  void zero_grad();

  /// The Euclidean norm of the whole gradient, which is added up over the processes first; not finite when
  /// any element is not. The same for any number of threads and processes.
  double grad_norm();

  /// One update, after grad_norm() where there are several processes. The gradient is scaled down first where
  /// `norm` exceeds max_grad_norm (0: never).
  void step(double learning_rate, double norm);

  int64_t num_updates() const { return num_updates_; }
  void set_num_updates(int64_t count) { num_updates_ = count; }

  dist::Group& processes() const { return shards_.group(); }

  /// Calls read(leaf) for each leaf that has only sizes, while it has its master's values.
  void read_masters(const std::function<void(const at::Tensor&)>& read) const;

  /// Calls write(leaf), which sets the values, for each such leaf, and takes them as the master's.
  void write_masters(const std::function<void(const at::Tensor&)>& write);

  /// The names of the moments in a checkpoint, with tensors of their sizes and dtypes without values.
  NamedTensors moments_like() const;

  /// Calls read(name, values) for all moments. All processes get the values.
  void read_moments(const std::function<void(const std::string&, const at::Tensor&)>& read) const;

  /// Takes the moments from get(name), in the leaves' sizes.
  void write_moments(const std::function<at::Tensor(const std::string&)>& get);

 private:
  /// What belongs to a part that this process updates; [count] each.
  struct State {
    at::Tensor exp_avg, exp_avg_sq;
    at::Tensor step;    // what the fused kernel counts updates in: one float
    at::Tensor master;  // undefined: it is a part of the leaf
  };

  bool is_packed(int64_t leaf) const { return !packed_.empty() && packed_[leaf] != nullptr; }
  std::vector<at::Tensor> masters() const;
  void tell_weights();

  std::vector<at::Tensor> leaves_;
  std::vector<Linear*> packed_;
  dist::Shards shards_;
  std::vector<State> states_;
  std::vector<at::Tensor> gradients_;  // of the parts, once they are added up; of several processes
  OptimizerConfig config_;
  int64_t num_updates_ = 0;
};

}  // namespace cohort
