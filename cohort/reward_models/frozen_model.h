// Models that judge: loaded for computing alone, beside the policy.
#pragma once

#include <cstdint>
#include <memory>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_config.h"

namespace cohort {

/// The model in `config.path`, computing in `config.dtype` on the CPU. Throws ConfigError where the path is
/// not set and FormatError for a directory that holds no such model.
std::unique_ptr<Decoder> load_frozen(const RewardConfig& config, HeadKind head);

/// Bytes of its weights and of a pass over so many rows.
int64_t frozen_model_bytes(const Decoder& decoder, int64_t pass_rows);

}  // namespace cohort
