// Where hand-written backwards add the gradients of leaves.
#pragma once

#include <ATen/ATen.h>

#include <unordered_map>
#include <vector>

namespace cohort {

/// Adds `update` [the shape of `leaf`, in its dtype or narrower] to the gradient of a leaf that requires one;
/// else does nothing.
void accumulate_grad(const at::Tensor& leaf, const at::Tensor& update);

/// The gradient of a leaf to add into, zeros where it was undefined: that of the thread's GradientSink where
/// one is open, else `leaf.grad()`.
at::Tensor& gradient_of(const at::Tensor& leaf);

/// While open, the backwards of its thread add into tensors of its own, so that threads run backwards through
/// the same leaves side by side.
class GradientSink {
 public:
  /// Opens this sink on the calling thread until the end of the scope. Scopes do not nest.
  class Scope {
   public:
    explicit Scope(GradientSink& sink);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  /// Adds what was gathered to the leaves' gradients, in the order of first use, and empties the sink.
  void add_to_leaves();

 private:
  friend at::Tensor& gradient_of(const at::Tensor& leaf);

  struct Entry {
    at::Tensor leaf;
    at::Tensor grad;
  };
  std::vector<Entry> entries_;
  std::unordered_map<const void*, size_t> places_;  // of leaves in entries_
};

}  // namespace cohort
