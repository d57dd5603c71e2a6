// The memory of a tensor's values, which may be given back while its sizes stay.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// Whether the values of a tensor with elements are in memory.
bool has_values(const at::Tensor& tensor);

/// Frees the values of all views of a tensor's memory; sizes stay.
void free_values(const at::Tensor& tensor);

/// Gives freed values memory again, for all views. `whole` is the tensor that owned it, contiguous. The
/// values are not set.
void allocate_values(const at::Tensor& whole);

}  // namespace cohort
