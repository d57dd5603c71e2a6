// How a function of cohort/objectives becomes one of Python, by its signature: its tensors are checked, what
// it takes as Segments or spans comes as tensors or lists, and its documentation is that of its header.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cohort/objectives/baseline.h"
#include "cohort/objectives/clip.h"
#include "cohort/objectives/segments.h"

namespace cohort::python {

/// Whole numbers: a sequence of int or a tensor of integers.
struct Integers {
  std::vector<int64_t> values;
};

/// The header's text on the function and its file's legend; COHORT_CHECKs that there is one.
const char* documentation(const char* function);

/// Throws UserError unless all are float32 or float64 and have one shape and dtype; null: no tensor.
void check_alike(std::initializer_list<const at::Tensor*> tensors);

/// The numbers of a tensor [size] as `like` has them: dtype, device and shape.
at::Tensor tensor_like(std::span<const double> numbers, const at::Tensor& like);

/// Throws UserError unless the numbers ascend from 0 on and end with `count`.
void check_ends(const Integers& group_ends, int64_t count);

/// The forks of trees: the place in its group of the completion that each one left, -1 for none, and the
/// segments that both have; empty if neither list is given. Throws UserError for a place that is not before
/// its own.
std::vector<Fork> forks_of(const std::optional<Integers>& places, const std::optional<Integers>& segments,
                           const std::vector<int64_t>& group_ends);

/// [size] the tensor's numbers in double precision. Throws UserError unless it is [size] of float32 or
/// float64.
std::vector<double> numbers_of(const at::Tensor& tensor, const char* what);

/// The argument where it is a tensor.
inline const at::Tensor* tensor_in(const at::Tensor& tensor) { return &tensor; }
template <typename Value>
const at::Tensor* tensor_in(const Value&) {
  return nullptr;
}

/// What Python gives for a parameter of the C++ function, and how it is passed on.
template <typename Parameter>
struct Given {
  using type = Parameter;
  static Parameter pass(const Parameter& value, const at::Device&) { return value; }
};
template <>
struct Given<const at::Tensor&> {
  using type = const at::Tensor&;
  static const at::Tensor& pass(const at::Tensor& value, const at::Device&) { return value; }
};
template <>
struct Given<const Segments&> {
  using type = const Integers&;
  static Segments pass(const Integers& lengths, const at::Device& device) { return {lengths.values, device}; }
};

using SurrogateTuple = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

inline at::Tensor returned(at::Tensor result) { return result; }
inline SurrogateTuple returned(ClippedSurrogate result) {
  return {std::move(result.loss), std::move(result.low_clipped), std::move(result.high_clipped)};
}

inline at::Device device_of(std::initializer_list<const at::Tensor*> tensors) {
  for (const at::Tensor* tensor : tensors)
    if (tensor != nullptr) return tensor->device();
  return at::kCPU;
}

/// The function of tensors behind check_alike.
template <typename Result, typename... Parameters>
auto checked(Result (*function)(Parameters...)) {
  return [function](typename Given<Parameters>::type... given) {
    check_alike({tensor_in(given)...});
    const at::Device device = device_of({tensor_in(given)...});
    return returned(function(Given<Parameters>::pass(given, device)...));
  };
}

}  // namespace cohort::python

namespace pybind11::detail {

template <>
struct type_caster<cohort::python::Integers> {
  PYBIND11_TYPE_CASTER(cohort::python::Integers, const_name("collections.abc.Sequence[int] | torch.Tensor"));

  bool load(handle source, bool) {
    const object list =
        hasattr(source, "tolist") ? source.attr("tolist")() : reinterpret_borrow<object>(source);
    type_caster<std::vector<int64_t>> numbers;
    if (!numbers.load(list, false)) return false;
    value.values = cast_op<std::vector<int64_t>>(std::move(numbers));
    return true;
  }
};

}  // namespace pybind11::detail
