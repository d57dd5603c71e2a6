#include <algorithm>

#include "cohort/models/family.h"

namespace cohort {
namespace {

/// The layers with a plain MLP.
std::vector<double> mlp_only_layers(const ConfigReader& reader) {
  return reader.has("mlp_only_layers") ? reader.numbers("mlp_only_layers") : std::vector<double>{};
}

}  // namespace

/// arXiv:2505.09388: Qwen3 with experts in the layers that decoder_sparse_step and mlp_only_layers leave.
constexpr Family kQwen3Moe{
    .stem = "Qwen3Moe",
    .model_type = "qwen3_moe",
    .defaults = R"({"num_key_value_heads": 4, "max_position_embeddings": 32768, "sliding_window": 4096,
                    "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                    "decoder_sparse_step": 1})",
    .names = {.router = "mlp.gate", .experts = "mlp.experts."},
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          config.qkv_bias = config.output_bias = reader.flag_or("attention_bias", false);
          config.qk_norm = true;
          if (reader.flag_or("use_sliding_window", false)) {
            config.sliding_window = reader.integer_or("sliding_window", 0, 1);
            for (LayerConfig& layer : config.layers) layer.window = config.sliding_window;
          }
          const int64_t step = reader.integer("decoder_sparse_step", 1);
          const std::vector<double> plain = mlp_only_layers(reader);
          const auto has_experts = [&](int64_t layer) {
            return (layer + 1) % step == 0 && std::find(plain.begin(), plain.end(), layer) == plain.end();
          };
          // transformers 5 writes the second name.
          const char* num_experts = reader.has("num_local_experts") ? "num_local_experts" : "num_experts";
          read_moe(reader, num_experts, "moe_intermediate_size", reader.flag_or("norm_topk_prob", false),
                   has_experts, config);
        },
};

}  // namespace cohort
