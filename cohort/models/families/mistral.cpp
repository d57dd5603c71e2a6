#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2310.06825: every layer sees a window, unless sliding_window is null.
constexpr Family kMistral{
    .stem = "Mistral",
    .model_type = "mistral",
    .defaults = R"({"num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096})",
    .names = {},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.sliding_window = reader.integer_or("sliding_window", 0, 1);
          for (LayerConfig& layer : config.layers) layer.window = config.sliding_window;
        },
};

}  // namespace cohort
