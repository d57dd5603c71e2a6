// The model that the KL divergence is taken to: as it was when the run began, or moving after the policy.
#pragma once

#include <cstdint>
#include <optional>

#include "cohort/models/decoder.h"
#include "cohort/objectives/control_config.h"
#include "cohort/train/checkpoint.h"

namespace cohort {

class Reference {
 public:
  /// `decoder` is null where nothing reads a reference; of a policy of adapters it is the policy itself,
  /// which then cannot move.
  Reference(Decoder* decoder, const ControlConfig& config) : decoder_(decoder), config_(config) {}

  const Decoder* decoder() const { return decoder_; }

  /// Every ref_model_sync_steps updates: reference = alpha * policy + (1 - alpha) * reference, master by
  /// master (arXiv:2404.09656).
  void after_update(const Decoder& policy, int64_t num_updates);

  /// What a checkpoint holds of a reference that moves; `refresh` is due after it was restored.
  std::optional<TrainedPart> part() const;
  void refresh();

 private:
  bool moves() const { return decoder_ != nullptr && config_.sync_ref_model; }

  Decoder* decoder_;
  ControlConfig config_;
};

}  // namespace cohort
