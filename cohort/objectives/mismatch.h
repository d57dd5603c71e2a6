// Weights that correct for a sampler whose probabilities are not the trainer's. Legend: M packed loss tokens
// of N completions.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <span>
#include <string>

#include "cohort/objectives/segments.h"

namespace cohort {

/// A line of mismatch_modes.def.
struct MismatchMode {
  const char* name;
  const char* text;
  bool is_on = false;           ///< there is a weight
  bool is_of_sequence = false;  ///< one weight for all tokens of a completion, the product of theirs
  bool is_truncated = false;    ///< clamped to its bounds; otherwise 0 outside them
};

/// In the order of mismatch_modes.def.
std::span<const MismatchMode> mismatch_modes();

/// Throws InternalError for an unknown name.
const MismatchMode& find_mismatch_mode(const std::string& name);

/// w = exp(old - sampler) per token, or per completion the product of its tokens' (exponents clamped to
/// +-20); [M] in the inputs' dtype, a constant. Modes: token_truncate, sequence_truncate: clamped to the
/// bounds; token_mask, sequence_mask: 0 outside them. A bound that is missing does not act. A token whose
/// sampler log-probability is nan has difference 0 (TRL 1.16's
/// vllm_importance_sampling_mode).
at::Tensor mismatch_weights(const std::string& mode, const at::Tensor& old_logprobs,
                            const at::Tensor& sampler_logprobs, const Segments& completions,
                            std::optional<double> low, std::optional<double> high);

}  // namespace cohort
