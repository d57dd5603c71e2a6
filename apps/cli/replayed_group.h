// A group's tokens as `cohort replay` recomputes them, for the page of `cohort view`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "cohort/core/json.h"

namespace cohort::cli {

/// Loads the model twice: with the weights before the step for entropies and the share of the gradient, and
/// with those after it for ratios. {samples: [{sample, branch, gradient_share, tokens: [{place, entropy,
/// ratio, clipped}]}]}; `place` counts a completion's tokens from 0. Throws UserError if the run keeps no
/// batch or checkpoint of the step.
Json replayed_group(const std::filesystem::path& run, int64_t step, const std::string& prompt_id);

}  // namespace cohort::cli
