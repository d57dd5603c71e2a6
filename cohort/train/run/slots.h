// The slots of an update (dist/gradient_sum.h): which completions are in which, and their sum.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cohort/train/run/loss_result.h"
#include "cohort/train/run/packing.h"

namespace cohort {

/// Cuts completions into `count` slots of about as many tokens each, in order. `keeps_groups`: groups stay
/// whole.
std::vector<std::vector<PackGroup>> cut_into_slots(const std::vector<PackGroup>& groups, int64_t count,
                                                   bool keeps_groups);

/// What a slot of an update gives beside the gradient in the leaves.
struct SlotResult {
  LossResult loss;
  at::Tensor weights_gradient{};  ///< see loss_part.h; undefined where no length preference is learned
};

/// Runs the slots that belong to this process, and gives those of all in their order. Afterwards the leaves
/// have the sum of the gradients of this process's slots. The gradients of `leaves` were zero before.
std::vector<SlotResult> run_slots(const std::vector<std::vector<PackGroup>>& slots,
                                  const std::vector<at::Tensor>& leaves, const LossOptions& options,
                                  const std::function<SlotResult(const std::vector<PackGroup>&)>& run);

/// [number of places] a column of each completion: those that `completions` name are computed, each by one
/// process, and all processes get them. `compute` calls its second argument for each completion that it is
/// given.
std::vector<std::vector<float>> shared_columns(
    const std::vector<PackGroup>& completions, int64_t num_places, dist::Group& processes,
    const std::function<void(const std::vector<PackGroup>&, std::vector<std::vector<float>>&)>& compute);

}  // namespace cohort
