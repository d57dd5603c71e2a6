#include "cohort/tensor/check.h"

#include "cohort/core/error.h"

namespace cohort {

void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> shape, const char* what) {
  const auto fits = [&] {
    if (!tensor.defined() || tensor.dim() != static_cast<int64_t>(shape.size())) return false;
    int64_t dim = 0;
    for (int64_t size : shape) {
      if (size >= 0 && tensor.size(dim) != size) return false;
      ++dim;
    }
    return true;
  };
  if (fits()) return;
  throw InternalError(
      cohort::str(what, ": expected ", at::IntArrayRef(shape.begin(), shape.size()), ", got ",
                  tensor.defined() ? cohort::str(tensor.sizes()) : std::string("an undefined tensor")));
}

void check_dtype(const at::Tensor& tensor, at::ScalarType dtype, const char* what) {
  if (tensor.defined() && tensor.scalar_type() == dtype) return;
  throw InternalError(
      cohort::str(what, ": expected ", dtype, ", got ",
                  tensor.defined() ? cohort::str(tensor.scalar_type()) : std::string("an undefined tensor")));
}

}  // namespace cohort
