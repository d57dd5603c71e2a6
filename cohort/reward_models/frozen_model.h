// Models that judge: loaded for computing alone, beside the policy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cohort/models/decoder.h"

namespace cohort {

/// The model in `path`, computing in `dtype`, float32 where it is empty, on the CPU, for the reward `name`.
/// Throws ConfigError where the path is not set and FormatError for a directory that holds no such model.
std::unique_ptr<Decoder> load_frozen(const std::string& name, const std::string& path,
                                     const std::string& dtype, HeadKind head);

/// Bytes of its weights and of a pass over so many rows.
int64_t frozen_model_bytes(const Decoder& decoder, int64_t pass_rows);

}  // namespace cohort
