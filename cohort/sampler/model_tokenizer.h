// The tokenizer of a model directory, checked against the model.
#pragma once

#include <filesystem>
#include <memory>

#include "cohort/models/decoder_config.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// Null if the directory has no tokenizer.json. Throws FormatError if the tokenizer is malformed or
/// has ids outside the model's vocabulary.
std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& model_dir,
                                                const DecoderConfig& config);

}  // namespace cohort
