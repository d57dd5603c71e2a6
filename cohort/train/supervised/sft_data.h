// The rows of `cohort sft`.
#pragma once

#include "cohort/models/decoder_config.h"
#include "cohort/tasks/dataset.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {

/// The examples to train on. Throws FormatError naming the line of one that cannot be used.
Dataset open_examples(const SftDataConfig& data, const SftFormat& format, const DecoderConfig& model);

}  // namespace cohort
