#include "cohort/train/run/slots.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/dist/gradient_sum.h"
#include "cohort/rl/byte_archive.h"

namespace cohort {
namespace {

int64_t length_of(const PackedCompletion& packed) { return std::ssize(packed.completion->token_ids); }

std::string to_bytes(const SlotResult& result) {
  ByteWriter writer;
  writer(to_bytes(result.loss));
  std::vector<double> gradient;
  if (result.weights_gradient.defined()) {
    const at::Tensor values = result.weights_gradient.cpu().contiguous();
    gradient.assign(values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel());
  }
  writer(gradient);
  return writer.bytes;
}

SlotResult slot_result_from(ByteReader& reader, const at::Device& device) {
  std::string loss;
  std::vector<double> gradient;
  reader(loss);
  reader(gradient);
  SlotResult result{loss_result_from(loss)};
  if (!gradient.empty()) result.weights_gradient = at::tensor(gradient, at::kDouble).to(device);
  return result;
}

/// The slots of all processes, in their order.
std::vector<SlotResult> gather(std::vector<SlotResult> own, dist::Group& processes,
                               const at::Device& device) {
  if (processes.size() == 1) return own;
  ByteWriter writer;
  for (const SlotResult& result : own) writer.bytes += to_bytes(result);
  std::vector<SlotResult> all;
  for (const std::string& bytes : processes.all_gather(writer.bytes, "the losses of an update")) {
    ByteReader reader(bytes);
    while (reader.num_left() > 0) all.push_back(slot_result_from(reader, device));
  }
  return all;
}

}  // namespace

std::vector<std::vector<PackGroup>> cut_into_slots(const std::vector<PackGroup>& groups, int64_t count,
                                                   bool keeps_groups) {
  if (count == 1) return {groups};
  int64_t total = 0;
  for (const PackGroup& group : groups) {
    for (const PackedCompletion& packed : group.completions) total += length_of(packed);
  }
  std::vector<std::vector<PackGroup>> slots(count);
  int64_t before = 0;  // tokens of the completions before this one
  const auto slot_at = [&](int64_t middle) {
    return std::min(middle * count / std::max<int64_t>(total, 1), count - 1);
  };
  for (const PackGroup& group : groups) {
    int64_t length = 0;
    for (const PackedCompletion& packed : group.completions) length += length_of(packed);
    const int64_t slot_of_group = slot_at(before + length / 2);
    for (const PackedCompletion& packed : group.completions) {
      auto& slot = slots[keeps_groups ? slot_of_group : slot_at(before + length_of(packed) / 2)];
      if (slot.empty() || slot.back().prompt_ids != group.prompt_ids) slot.push_back({group.prompt_ids, {}});
      slot.back().completions.push_back(packed);
      before += length_of(packed);
    }
  }
  return slots;
}

std::vector<SlotResult> run_slots(const std::vector<std::vector<PackGroup>>& slots,
                                  const std::vector<at::Tensor>& leaves, const LossOptions& options,
                                  const std::function<SlotResult(const std::vector<PackGroup>&)>& run) {
  const auto plan = dist::SlotPlan::of(*options.processes, std::ssize(slots));
  if (plan.num_slots == 1) return {run(slots.front())};
  dist::SlotSums sums(leaves);
  std::vector<SlotResult> own;
  for (int64_t slot = plan.first; slot < plan.first + plan.count; ++slot) {
    own.push_back(run(slots[slot]));
    sums.end_slot(slot + 1 == plan.first + plan.count);
  }
  sums.finish();
  return gather(std::move(own), *options.processes, leaves.front().device());
}

std::vector<std::vector<float>> shared_columns(
    const std::vector<PackGroup>& completions, int64_t num_places, dist::Group& processes,
    const std::function<void(const std::vector<PackGroup>&, std::vector<std::vector<float>>&)>& compute) {
  std::vector<std::vector<float>> columns(num_places);
  const auto shares = cut_into_slots(completions, processes.size(), /*keeps_groups=*/false);
  const std::vector<PackGroup>& own = shares[processes.rank()];
  compute(own, columns);
  if (processes.size() == 1) return columns;
  ByteWriter writer;
  for (const PackGroup& group : own) {
    for (const PackedCompletion& packed : group.completions) {
      writer(packed.place);
      writer(columns[packed.place]);
    }
  }
  for (const std::string& bytes : processes.all_gather(writer.bytes, "a column of the step's samples")) {
    ByteReader reader(bytes);
    while (reader.num_left() > 0) {
      int64_t place = 0;
      reader(place);
      COHORT_CHECK(place >= 0 && place < num_places);
      reader(columns[place]);
    }
  }
  return columns;
}

}  // namespace cohort
