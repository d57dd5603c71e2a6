#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2503.19786: q and k heads are normalised; five layers with a window and a rope of their own, then
/// one that sees everything.
constexpr Family kGemma3{
    .stem = "Gemma3",
    .head_stem = "Gemma3Text",
    .has_token_head = false,
    .model_type = "gemma3_text",
    .defaults = R"({"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072,
                    "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true, "sliding_window": 4096,
                    "query_pre_attn_scalar": 256, "sliding_window_pattern": 6, "rope_theta": 1e6,
                    "rope_local_base_freq": 1e4})",
    .names = kGemmaNames,
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          read_gemma(reader, config);
          config.qk_norm = true;
          if (reader.flag_or("use_bidirectional_attention", false)) {
            reader.fail("use_bidirectional_attention", "is true; only causal attention is supported");
          }
          const int64_t pattern = reader.integer("sliding_window_pattern", 1);
          read_layer_types(reader, [&](int64_t layer) { return (layer + 1) % pattern != 0; }, config);
        },
};

}  // namespace cohort
