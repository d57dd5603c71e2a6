// The module `cohort._cohort.objectives`: checks what Python gives, packs it and calls the objectives. What
// the arguments mean is written in python/cohort/objectives.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/loss.h"
#include "cohort/objectives/objective_advice.h"
#include "cohort/objectives/preference.h"
#include "cohort/objectives/presets.h"
#include "cohort/objectives/ratio_level.h"
#include "python/modules.h"
#include "python/packing.h"
#include "python/piece.h"
#include "python/pieces.h"
#include "python/settings.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

std::string shape_of(const at::Tensor& tensor) {
  std::string text;
  for (const int64_t size : tensor.sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

void check_sizes(const at::Tensor& tensor, at::IntArrayRef wanted, const std::string& what) {
  if (tensor.sizes() == wanted) return;
  std::string text;
  for (const int64_t size : wanted) text += (text.empty() ? "" : ", ") + std::to_string(size);
  throw UserError(str(what, " has shape ", shape_of(tensor), ", but must have [", text, "]"));
}

void check_dims(const at::Tensor& tensor, int64_t dims, const char* shape, const char* what) {
  if (tensor.dim() != dims)
    throw UserError(str(what, " has shape ", shape_of(tensor), ", but must have ", shape));
  if (tensor.size(0) == 0) throw UserError(str(what, " has no rows"));
}

std::vector<int64_t> group_ends_of(int64_t num_rows, int64_t group_size) {
  if (group_size < 1 || num_rows % group_size != 0)
    throw UserError(str("group_size is ", group_size, ", but must divide the ", num_rows, " rows"));
  std::vector<int64_t> ends;
  for (int64_t end = group_size; end <= num_rows; end += group_size) ends.push_back(end);
  return ends;
}

/// Packs the [N, T] tensors of a call into its dtype and device.
class Packer {
 public:
  Packer(const Packing& packing, const at::TensorOptions& options) : packing_(packing), options_(options) {}

  /// Undefined for None.
  at::Tensor operator()(const MaybeTensor& padded, const char* what) const {
    if (!padded) return {};
    check_sizes(*padded, {packing_.num_rows(), packing_.num_places()}, what);
    return packing_.pack(*padded).to(options_);
  }

 private:
  const Packing& packing_;
  at::TensorOptions options_;
};

at::TensorOptions options_of(const at::Tensor& tensor, const char* what) {
  if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble)
    throw UserError(
        str(what, " is ", at::toString(tensor.scalar_type()), ", but must be float32 or float64"));
  return at::TensorOptions(tensor.dtype()).device(tensor.device());
}

void check_weights(const std::vector<double>& weights, int64_t num_columns) {
  if (weights.empty() || static_cast<int64_t>(weights.size()) == num_columns) return;
  throw UserError(
      str("reward_weights has ", weights.size(), " numbers, but rewards has ", num_columns, " columns"));
}

/// [N] from [N] or [N, C]: weighted sums, nan where a row has no reward at all.
at::Tensor total_rewards(const at::Tensor& rewards, int64_t num_rows, const std::vector<double>& weights) {
  if (rewards.dim() < 1 || rewards.dim() > 2 || rewards.size(0) != num_rows)
    throw UserError(str("rewards has shape ", shape_of(rewards), ", but must have [", num_rows, "] or [",
                        num_rows, ", C]"));
  const at::Tensor table = rewards.detach().to(at::kDouble).reshape({num_rows, -1});
  const int64_t count = table.size(1);
  check_weights(weights, count);
  const at::Tensor factors = weights.empty() ? at::ones({count}, table.options())
                                             : at::tensor(weights, at::kDouble).to(table.device());
  const at::Tensor none = table.isnan().all(1);
  return (table * factors).nansum(1).masked_fill(none, std::nan(""));
}

int64_t whole_count(const py::object& value) {
  const double count = py::float_(value).cast<double>();
  if (!(count > 0) || count != std::floor(count))
    throw UserError(str("num_items_in_batch is ", count, ", but must be a whole number above 0"));
  return static_cast<int64_t>(count);
}

/// lambda-GRPO's lambda as a tensor takes gradient; it is taken out of the settings' keywords.
at::Tensor take_length_preference(py::dict& keywords) {
  if (!keywords.contains("length_preference") || !THPVariable_Check(keywords["length_preference"].ptr()))
    return {};
  const at::Tensor value = keywords["length_preference"].cast<at::Tensor>();
  if (value.numel() != 1)
    throw UserError("length_preference is a tensor of several numbers, but must be one");
  keywords.attr("pop")("length_preference");
  return value.reshape({}).to(at::kDouble);
}

std::vector<uint8_t> demonstration_flags(const MaybeTensor& mask, int64_t num_rows) {
  if (!mask) return {};
  check_sizes(*mask, {num_rows}, "demonstration_mask");
  const at::Tensor flags = mask->detach().ne(0).to(at::kCPU, at::kByte).contiguous();
  return {flags.const_data_ptr<uint8_t>(), flags.const_data_ptr<uint8_t>() + num_rows};
}

std::pair<at::Tensor, std::map<std::string, double>> loss(
    const at::Tensor& policy_logprobs, const at::Tensor& mask, const at::Tensor& advantages,
    const MaybeTensor& old_logprobs, const MaybeTensor& ref_logprobs, const MaybeTensor& sampler_logprobs,
    const MaybeTensor& entropies, const MaybeTensor& rewards, const MaybeTensor& demonstration_mask,
    std::optional<int64_t> group_size, const py::object& num_items_in_batch, const std::string& preset,
    const py::dict& config) {
  check_dims(policy_logprobs, 2, "[N, T]", "policy_logprobs");
  check_sizes(mask, policy_logprobs.sizes(), "mask");
  const at::TensorOptions options = options_of(policy_logprobs, "policy_logprobs");
  py::dict keywords = py::dict(config.attr("copy")());
  LossInput input;
  input.length_preference = take_length_preference(keywords);
  const Settings settings = read_settings(preset, keywords);
  const Packing packing(mask);
  const Packer pack(packing, options);
  input.policy_logprobs = pack(policy_logprobs, "policy_logprobs");
  input.lengths = packing.lengths();
  input.advantages_are_per_token = advantages.dim() == 2;
  if (input.advantages_are_per_token) {
    input.advantages = pack(advantages, "advantages");
  } else {
    check_sizes(advantages, {packing.num_rows()}, "advantages");
    input.advantages = advantages.to(options);
  }
  input.old_logprobs = pack(old_logprobs, "old_logprobs");
  input.ref_logprobs = pack(ref_logprobs, "ref_logprobs");
  input.sampler_logprobs = pack(sampler_logprobs, "sampler_logprobs");
  input.entropies = pack(entropies, "entropies");
  if (rewards)
    input.rewards = total_rewards(*rewards, packing.num_rows(), settings.reward_weights).to(options);
  if (group_size) input.group_ends = group_ends_of(packing.num_rows(), *group_size);
  if (find_ratio_level(settings.loss.importance_sampling_level).is_of_turns)
    input.turn_lengths = packing.run_lengths();
  input.is_demonstration = demonstration_flags(demonstration_mask, packing.num_rows());
  if (!num_items_in_batch.is_none()) input.num_items_in_batch = whole_count(num_items_in_batch);
  const LossOutput output = policy_loss(input, settings.loss);
  return {output.loss.to(options), output.metrics.values()};
}

/// From the mask, or the lengths, or the places of an [N, T] tensor, all of which then count; absent where
/// none of them is given.
std::optional<Packing> packing_of(const MaybeTensor& mask, const MaybeTensor& lengths,
                                  const MaybeTensor& padded, const MaybeTensor& step_ends, int64_t num_rows) {
  std::vector<int64_t> wanted;
  if (lengths) {
    check_sizes(*lengths, {num_rows}, "lengths");
    const at::Tensor counts = lengths->detach().to(at::kCPU, at::kLong).contiguous();
    wanted.assign(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + num_rows);
    for (const int64_t length : wanted)
      if (length < 0) throw UserError(str("lengths holds ", length, ", but must be at least 0"));
  }
  if (mask) {
    check_dims(*mask, 2, "[N, T]", "mask");
    check_sizes(*mask, {num_rows, mask->size(1)}, "mask");
    Packing packing(*mask);
    if (lengths && wanted != packing.lengths())
      throw UserError("lengths and mask count different numbers of tokens: give one of them");
    return packing;
  }
  int64_t places = -1;
  if (padded) {
    check_dims(*padded, 2, "[N, T]", "a tensor of tokens");
    places = padded->size(1);
  } else if (lengths) {
    places = *std::max_element(wanted.begin(), wanted.end());
  } else if (step_ends && step_ends->numel() > 0) {
    places = step_ends->max().item<int64_t>() + 1;
  }
  if (places < 0) return {};
  if (!lengths) wanted.assign(num_rows, places);
  for (const int64_t length : wanted)
    if (length > places)
      throw UserError(str("lengths holds ", length, ", but rows have ", places, " places"));
  return Packing::of_lengths(wanted, places);
}

at::Tensor step_indices(const at::Tensor& step_ends, const at::Tensor& rewards, const Packing& packing) {
  check_sizes(step_ends, rewards.sizes(), "step_ends");
  if (at::isFloatingType(step_ends.scalar_type())) throw UserError("step_ends must hold integers");
  const at::Tensor places = step_ends.detach().to(at::kLong);
  if (places.lt(-1).any().item<bool>() || places.ge(packing.num_places()).any().item<bool>())
    throw UserError(
        str("step_ends must hold places in a row, from 0 to ", packing.num_places() - 1, ", or -1"));
  return packing.token_indices(places, "step_ends");
}

void check_group_size(int64_t group_size, const std::string& baseline) {
  if (group_size > 1 || !find_baseline(baseline).is_of_group) return;
  throw UserError(
      str("baseline \"", baseline,
          "\" compares the completions of a group, and group_size is 1; pass more completions of a "
          "prompt, or baseline=\"batch_mean\" or \"none\""));
}

at::Tensor advantages(const at::Tensor& rewards, int64_t group_size, const MaybeTensor& mask,
                      const MaybeTensor& lengths, const MaybeTensor& entropies,
                      const MaybeTensor& old_logprobs, const MaybeTensor& ref_logprobs,
                      const MaybeTensor& greedy_rewards, const MaybeTensor& values,
                      const MaybeTensor& step_ends, const MaybeTensor& outcome_rewards,
                      const MaybeTensor& step_states, const std::optional<Integers>& fork_of,
                      const std::optional<Integers>& fork_segments, const std::string& preset,
                      const py::dict& config) {
  if (rewards.dim() < 1 || rewards.dim() > 2 || rewards.size(0) == 0)
    throw UserError(str("rewards has shape ", shape_of(rewards), ", but must have [N] or [N, C]"));
  const Settings settings = read_settings(preset, config);
  const at::Tensor real = at::isFloatingType(rewards.scalar_type())
                              ? rewards
                              : rewards.to(c10::get_default_dtype_as_scalartype());
  const at::TensorOptions options = options_of(real, "rewards");
  const int64_t num_rows = rewards.size(0);
  AdvantageInput input;
  input.rewards = real;
  input.group_ends = group_ends_of(num_rows, group_size);
  if (!step_ends) check_group_size(group_size, settings.advantages.baseline);
  input.reward_weights = settings.reward_weights;
  if (!step_ends) check_weights(input.reward_weights, rewards.dim() == 2 ? rewards.size(1) : 1);
  MaybeTensor padded = entropies;
  for (const MaybeTensor& other : {old_logprobs, ref_logprobs, values})
    if (!padded) padded = other;
  const std::optional<Packing> packing = packing_of(mask, lengths, padded, step_ends, num_rows);
  if (packing) {
    const Packer pack(*packing, options);
    input.lengths = packing->lengths();
    input.entropies = pack(entropies, "entropies");
    input.old_logprobs = pack(old_logprobs, "old_logprobs");
    input.ref_logprobs = pack(ref_logprobs, "ref_logprobs");
    input.values = pack(values, "values");
  }
  if (greedy_rewards) {
    check_sizes(*greedy_rewards, {num_rows / group_size}, "greedy_rewards");
    input.greedy_rewards = greedy_rewards->to(options);
  }
  input.forks = forks_of(fork_of, fork_segments, input.group_ends);
  if (step_ends) input.step_ends = step_indices(*step_ends, rewards, packing.value());
  if (step_states) {
    check_sizes(*step_states, rewards.sizes(), "step_states");
    if (at::isFloatingType(step_states->scalar_type())) throw UserError("step_states must hold integers");
    input.step_states = step_states->detach().to(at::kLong);
  }
  if (outcome_rewards) {
    check_sizes(*outcome_rewards, {num_rows}, "outcome_rewards");
    input.outcome_rewards = outcome_rewards->to(options);
  }
  const AdvantageOutput output = advantages_of(input, settings.advantages);
  return output.is_per_token ? packing.value().unpack(output.values) : output.values;
}

std::pair<at::Tensor, std::vector<int64_t>> pack(const at::Tensor& padded, const at::Tensor& mask) {
  check_dims(mask, 2, "[N, T]", "mask");
  check_sizes(padded, mask.sizes(), "padded");
  const Packing packing(mask);
  return {packing.pack(padded), packing.lengths()};
}

at::Tensor unpack(const at::Tensor& packed, const at::Tensor& mask) {
  check_dims(mask, 2, "[N, T]", "mask");
  const Packing packing(mask);
  check_sizes(packed, {packing.num_tokens()}, "packed");
  return packing.unpack(packed);
}

std::pair<at::Tensor, std::map<std::string, double>> preference_loss(const at::Tensor& policy_logprobs,
                                                                     const at::Tensor& mask,
                                                                     const MaybeTensor& ref_logprobs,
                                                                     const py::dict& config) {
  check_dims(policy_logprobs, 2, "[2 P, T]", "policy_logprobs");
  if (policy_logprobs.size(0) % 2 != 0)
    throw UserError(str("policy_logprobs has ", policy_logprobs.size(0), " rows, but pairs take two each"));
  check_sizes(mask, policy_logprobs.sizes(), "mask");
  const at::TensorOptions options = options_of(policy_logprobs, "policy_logprobs");
  const PreferenceConfig settings = read_preference_settings(config);
  if (!ref_logprobs && !settings.reference_free)
    throw UserError("ref_logprobs is missing: give it, or reference_free=True");
  if (ref_logprobs && settings.reference_free)
    throw UserError("ref_logprobs has no effect with reference_free=True: give one of them");
  const Packing packing(mask);
  const Packer pack(packing, options);
  PreferenceInput input{.policy_logprobs = pack(policy_logprobs, "policy_logprobs"),
                        .lengths = packing.lengths()};
  if (ref_logprobs)
    input.ref_sums =
        sequence_logprobs(pack(ref_logprobs, "ref_logprobs"), packing.lengths(), settings.ld_alpha);
  const LossOutput output = cohort::preference_loss(input, settings);
  return {output.loss.to(options), output.metrics.values()};
}

std::vector<std::string> advice(const std::string& preset, const py::dict& config) {
  return check_objective(read_settings(preset, config));
}

py::dict preset_table() {
  py::dict table;
  for (const Preset& preset : presets())
    table[preset.name] = str(preset.paper, " (", preset.evidence, "): ", preset.composition,
                             *preset.settings == '\0' ? "" : "; sets ", preset.settings);
  return table;
}

}  // namespace

void add_objectives(py::module_ module) {
  module.def("loss", &loss);
  module.def("advantages", &advantages);
  module.def("preference_loss", &preference_loss);
  module.def(
      "pack", &pack, py::arg("padded"), py::arg("mask"),
      "The numbers of `padded` [N, T] where `mask` [N, T] is 1, row behind row, [M], and how many each row "
      "has, [N]; gradient flows.");
  module.def(
      "unpack", &unpack, py::arg("packed"), py::arg("mask"),
      "The inverse of pack: `packed` [M] at the ones of `mask` [N, T] and 0 elsewhere; gradient flows.");
  add_loss_pieces(module);
  add_advantage_pieces(module);
  module.def("advice", &advice);
  module.def("presets", &preset_table);
  module.def("settings", &describe_settings);
}

}  // namespace cohort::python
