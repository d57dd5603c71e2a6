// Functions of the user's in place of the objective's loss or advantages.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "cohort/dist/group.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/train/run/loss_result.h"

namespace cohort {

/// The advantages [N] float64 of N completions from their rewards [N] float64, nan for a completion without
/// one, and the numbers [N] int64 of their groups, from 0 in ascending order.
using AdvantageFunction = std::function<at::Tensor(const at::Tensor& rewards, const at::Tensor& groups)>;

struct OwnFunctions {
  LossFunction loss{};             ///< empty: the objective's
  AdvantageFunction advantages{};  ///< empty: the objective's
  LossMetrics metrics{};           ///< those that `loss` returned in its trial, at 0
};

/// Throws ConfigError for keys of the objective that have no effect because a function is in their place.
void check_replaced_keys(const ObjectiveConfig& config);

/// Calls each function on a made-up batch and returns them with the names of the loss's metrics. Throws
/// ConfigError for a function that the settings name and that is not there, and for a result that cannot be
/// trained on.
OwnFunctions tried(OwnFunctions functions, const ObjectiveConfig& config);

/// The function as rank 0 calls it for all `processes`, which must outlive it: numbers that it draws are the
/// same in each.
AdvantageFunction called_once(AdvantageFunction function, dist::Group& processes);

/// What the function gives, checked. Throws UserError if it is no vector of N numbers, or not finite where
/// there is a reward.
at::Tensor own_advantages(const AdvantageFunction& function, const at::Tensor& rewards,
                          const at::Tensor& groups);

}  // namespace cohort
