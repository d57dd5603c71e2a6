// A checkpoint: master weights, optimizer moments and everything else that a step depends on.
#pragma once

#include <filesystem>

#include "cohort/core/json.h"
#include "cohort/models/decoder.h"
#include "cohort/train/optimizer.h"

namespace cohort {

/// Writes `weights.safetensors` (float32 masters), `optimizer.safetensors` and `state.json` into the new
/// directory `temporary` and publishes it as `final`: complete or not there.
void save_checkpoint(const std::filesystem::path& temporary, const std::filesystem::path& final,
                     const Decoder& decoder, const AdamW& optimizer, const Json& state);

/// Restores weights and optimizer and returns the state. Throws FormatError naming what is missing or does
/// not fit.
Json load_checkpoint(const std::filesystem::path& directory, Decoder& decoder, AdamW& optimizer);

}  // namespace cohort
