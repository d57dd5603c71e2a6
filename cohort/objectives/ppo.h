// PPO's clipped surrogate (arXiv:1707.06347 eq. 7); its formula is in clip.h.
#pragma once

#include <optional>

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// Bounds are `epsilon`, `epsilon_high` and `clip_side` of LossConfig, and a cap for negative advantages.
struct PpoSurrogate final : Surrogate {
  std::optional<double> delta;

  void describe(FieldVisitor& f) override;
  void advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
