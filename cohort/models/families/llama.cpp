#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2407.21783; the common decoder.
constexpr Family kLlama{
    .stem = "Llama",
    .model_type = "llama",
    .defaults = "{}",
    .names = {},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.qkv_bias = config.output_bias = reader.flag_or("attention_bias", false);
          config.mlp_bias = reader.flag_or("mlp_bias", false);
        },
};

}  // namespace cohort
