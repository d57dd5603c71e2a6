// Checks at start-up that sampler and trainer compute the same log-probabilities on this machine.
#pragma once

#include "cohort/models/decoder.h"

namespace cohort {

/// Samples a few short completions and forwards them packed. Returns the largest absolute difference of a
/// log-probability: 0 on an exact platform.
double sampler_trainer_difference(const Decoder& decoder);

}  // namespace cohort
