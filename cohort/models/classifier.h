// Scores of sequences and tokens under a classification head: what reward models are.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/models/decoder.h"

namespace cohort {

/// [sequences, num_labels] float32: the scores at each sequence's last token that is not the pad token, as
/// transformers takes it. Gradient to all weights where gradients are on. Throws InternalError when the model
/// has no ForSequenceClassification head or a sequence is empty.
at::Tensor sequence_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences);

/// [tokens of all sequences, num_labels] float32: the scores of every token; otherwise the same, of a
/// ForTokenClassification head.
at::Tensor token_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences);

}  // namespace cohort
