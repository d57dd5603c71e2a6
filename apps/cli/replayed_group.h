// A group's tokens as `cohort replay` recomputes them, for the page of `cohort view`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "cohort/core/json.h"

namespace cohort::cli {

/// Loads the model twice: with the weights before the step for entropies and gradients, and with those after
/// it for ratios. {samples: [{sample, branch, gradient_share, tokens: [{place, entropy, gradient, ratio,
/// clipped}]}], ratio_problem}; `place` counts a completion's tokens from 0, `gradient` is
/// SampleGradient::tokens, and `ratio_problem` says why there are no ratios, or is null. Throws UserError if
/// the run keeps no batch of the step or no checkpoint before it.
Json replayed_group(const std::filesystem::path& run, int64_t step, const std::string& prompt_id);

}  // namespace cohort::cli
