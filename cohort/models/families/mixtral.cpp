#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2401.04088: experts in every layer, weighted by the softmax over those that are chosen.
constexpr Family kMixtral{
    .stem = "Mixtral",
    .model_type = "mixtral",
    .defaults = R"({"num_key_value_heads": 8, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
                    "rope_theta": 1e6, "num_local_experts": 8, "num_experts_per_tok": 2})",
    .names = {.router = "block_sparse_moe.gate",
              .experts = "block_sparse_moe.experts.",
              .expert_gate = "w1",
              .expert_up = "w3",
              .expert_down = "w2"},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.sliding_window = reader.integer_or("sliding_window", 0, 1);
          for (LayerConfig& layer : config.layers) layer.window = config.sliding_window;
          read_moe(
              reader, "num_local_experts", "intermediate_size", true, [](int64_t) { return true; }, config);
        },
};

}  // namespace cohort
