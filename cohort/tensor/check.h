// Shape and dtype checks for the entry of a public function.
#pragma once

#include <ATen/ATen.h>

#include <initializer_list>

namespace cohort {

/// Throws InternalError naming `what` unless `tensor` is defined and has the sizes `shape`; -1 stands for any
/// size.
void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> shape, const char* what);

/// Throws InternalError naming `what` unless `tensor` has dtype `dtype`.
void check_dtype(const at::Tensor& tensor, at::ScalarType dtype, const char* what);

}  // namespace cohort
