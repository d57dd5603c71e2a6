// The model that the KL divergence is taken to: as it was when the run began, or moving after the policy.
#pragma once

#include <cstdint>
#include <optional>

#include "cohort/models/weight_snapshot.h"
#include "cohort/objectives/control_config.h"
#include "cohort/train/run/checkpoint.h"

namespace cohort {

class Reference {
 public:
  /// `decoder` is null if nothing reads a reference. It may be `policy` itself if that trains adapters: then
  /// the reference is the model without them, and can't move.
  Reference(Decoder* decoder, const Decoder& policy, const ControlConfig& config)
      : decoder_(decoder), is_policy_(decoder == &policy), config_(config) {}

  /// What the reference's passes read; null if nothing reads a reference.
  std::optional<WeightSnapshot> weights() const;

  /// Every ref_model_sync_steps updates: reference = alpha * policy + (1 - alpha) * reference, master by
  /// master (arXiv:2404.09656).
  void after_update(const Decoder& policy, int64_t num_updates);

  /// What a checkpoint holds of a reference that moves; `refresh` is due after it was restored.
  std::optional<TrainedPart> part() const;
  void refresh();

 private:
  bool moves() const { return decoder_ != nullptr && config_.sync_ref_model; }

  Decoder* decoder_;
  bool is_policy_;
  ControlConfig config_;
};

}  // namespace cohort
