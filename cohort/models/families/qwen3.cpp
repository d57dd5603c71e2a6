#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2505.09388: q and k heads are normalised.
constexpr Family kQwen3{
    .stem = "Qwen3",
    .model_type = "qwen3",
    .defaults = R"({"num_key_value_heads": 32, "head_dim": 128, "max_position_embeddings": 32768,
                    "sliding_window": 4096, "max_window_layers": 28})",
    .names = {},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.qkv_bias = config.output_bias = reader.flag_or("attention_bias", false);
          config.qk_norm = true;
          read_max_window_layers(reader, config);
        },
};

}  // namespace cohort
