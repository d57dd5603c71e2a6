// The rows of `cohort sft`.
#pragma once

#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/tasks/dataset.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {

/// The examples to train on, or those of evaluations. Throws FormatError naming the line of one that cannot
/// be used.
Dataset open_examples(const SftDataConfig& data, DataPart part, const SftFormat& format,
                      const DecoderConfig& model);

/// All of them at once.
std::vector<SftExample> all_examples(const Dataset& dataset, const SftFormat& format);

}  // namespace cohort
