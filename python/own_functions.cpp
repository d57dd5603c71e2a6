#include "python/own_functions.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>

#include "python/packing.h"
#include "python/settings.h"
#include "python/shared_function.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// What a loss is told beside its four tensors, by the names of cohort.LossBatch.
py::dict columns_of(const LossInput& part, const Packing& packing) {
  const auto padded = [&](const at::Tensor& packed) -> py::object {
    return packed.defined() ? py::cast(packing.unpack(packed)) : py::none();
  };
  py::dict columns;
  columns["sampler_logprobs"] = padded(part.sampler_logprobs);
  columns["ref_logprobs"] = padded(part.ref_logprobs);
  columns["entropies"] = padded(part.entropies);
  columns["rewards"] = part.rewards;
  columns["group_ends"] = part.group_ends;
  const LossCounts& counts = part.whole->counts;
  columns["num_completions"] = counts.num_completions;
  columns["num_loss_tokens"] = counts.num_loss_tokens;
  columns["num_groups"] = counts.num_groups;
  return columns;
}

LossOutput loss_by(const py::function& function, const LossInput& part) {
  const int64_t longest = std::max<int64_t>(1, *std::ranges::max_element(part.lengths));
  const Packing packing = Packing::of_lengths(part.lengths, longest);
  const at::Tensor mask = packing.unpack(at::ones_like(part.policy_logprobs.detach()));
  const at::Tensor advantages =
      part.advantages_are_per_token ? packing.unpack(part.advantages) : part.advantages.unsqueeze(1) * mask;
  const py::gil_scoped_acquire lock;
  const py::tuple result = function(packing.unpack(part.policy_logprobs), packing.unpack(part.old_logprobs),
                                    advantages, mask, columns_of(part, packing));
  LossOutput output;
  output.loss = result[0].cast<at::Tensor>();
  for (const auto& [name, value] : py::dict(result[1]))
    output.metrics.add_total(text_of("the name of a metric", name), value.cast<double>());
  output.metrics.add_total("loss", output.loss.item<double>());
  return output;
}

}  // namespace

LossFunction loss_function(py::function function) {
  return [shared = share(std::move(function))](const LossInput& part) { return loss_by(*shared, part); };
}

AdvantageFunction advantage_function(py::function function) {
  return [shared = share(std::move(function))](const at::Tensor& rewards, const at::Tensor& groups) {
    const py::gil_scoped_acquire lock;
    return (*shared)(rewards, groups).cast<at::Tensor>();
  };
}

}  // namespace cohort::python
