#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2407.10671: biases on q, k and v.
constexpr Family kQwen2{
    .stem = "Qwen2",
    .model_type = "qwen2",
    .defaults = R"({"num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096,
                    "max_window_layers": 28})",
    .names = {},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.qkv_bias = true;
          read_max_window_layers(reader, config);
        },
};

}  // namespace cohort
