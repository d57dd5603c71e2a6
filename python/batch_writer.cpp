#include "python/batch_writer.h"

#include <ATen/ATen.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <map>

namespace py = pybind11;

namespace cohort::python {
namespace {

/// Tensors of kept sets: those that tokens share stay shared.
using KeptSets = std::map<const void*, py::object>;

/// The kept sets of a completion's tokens; None if all tokens are from the whole vocabulary.
py::object kept_to_python(const Completion& completion, KeptSets& sets) {
  if (completion.kept_ids.empty()) return py::none();
  py::list list;
  for (const KeptIds& ids : completion.kept_ids) {
    if (ids == nullptr) {
      list.append(py::none());
      continue;
    }
    py::object& set = sets[ids.get()];
    if (!set) set = py::cast(at::tensor(at::ArrayRef<int32_t>(*ids), at::kInt));
    list.append(set);
  }
  return list;
}

at::Tensor tensor_of(const std::vector<float>& values) {
  return at::tensor(at::ArrayRef<float>(values), at::kFloat);
}

}  // namespace

py::list to_python(const std::vector<Group>& groups) {
  KeptSets sets;
  py::list result;
  for (const Group& group : groups) {
    py::list samples;
    for (const Sample& sample : group.samples) {
      const Completion& completion = sample.completion;
      samples.append(py::make_tuple(completion.token_ids, tensor_of(completion.sampler_logprobs),
                                    completion.text, to_string(completion.finish_reason),
                                    kept_to_python(completion, sets)));
    }
    result.append(py::make_tuple(group.prompt.token_ids, group.prompt.text, samples));
  }
  return result;
}

py::list column_to_python(const std::vector<Group>& groups, const std::vector<float> Sample::* column) {
  py::list result;
  for (const Group& group : groups) {
    py::list samples;
    for (const Sample& sample : group.samples) samples.append(py::cast(tensor_of(sample.*column)));
    result.append(samples);
  }
  return result;
}

}  // namespace cohort::python
