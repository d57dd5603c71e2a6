// Checks that sampler and trainer compute the same on this machine: at start-up, and of what a run records.
#pragma once

#include "cohort/models/decoder.h"
#include "cohort/rl/types.h"

namespace cohort {

/// Samples a few short completions and forwards them packed. Returns the largest absolute difference of a
/// log-probability: 0 on an exact platform.
double sampler_trainer_difference(const Decoder& decoder);

/// Logs what sampler_trainer_difference() found. Throws FormatError if it is not finite.
void report_exactness(double difference);

/// Whether the trainer's forward of a recorded completion is what `record`, which holds for `decoder`, has of
/// it, in every bit.
bool agrees_with_record(const Decoder& decoder, const ActivationRecord& record, const Prompt& prompt,
                        const Completion& completion);

}  // namespace cohort
