// Sums over adjacent tokens: of a completion, or of a turn. Legend: M tokens packed one behind the other, N
// segments that cut them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace cohort {

/// Which of N segments each of M packed tokens belongs to. A segment may be empty; its sum and mean are 0.
class Segments {
 public:
  /// `lengths` [N], at least 0 each, in order; the index tensors lie on `device`.
  Segments(const std::vector<int64_t>& lengths, const at::Device& device);

  int64_t num_segments() const { return num_segments_; }
  int64_t num_tokens() const { return index_.size(0); }

  /// Lengths [N] in `dtype`.
  at::Tensor lengths(at::ScalarType dtype) const { return lengths_.to(dtype); }

  /// [M] -> [N] in the dtype of `per_token`, gradient included.
  at::Tensor sum(const at::Tensor& per_token) const;

  /// sum / max(length, 1): [M] -> [N] in the dtype of `per_token`, gradient included.
  at::Tensor mean(const at::Tensor& per_token) const;

  /// Each token gets its segment's value: [N] -> [M], gradient included.
  at::Tensor expand(const at::Tensor& per_segment) const;

 private:
  int64_t num_segments_;
  at::Tensor index_;    ///< [M] int64
  at::Tensor lengths_;  ///< [N] int64
};

/// The number of tokens that `lengths` add up to.
int64_t total_length(const std::vector<int64_t>& lengths);

}  // namespace cohort
