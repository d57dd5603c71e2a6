#include "cohort/models/family.h"

namespace cohort {

/// arXiv:2408.00118: capped scores and logits; every other layer, from the first, sees a window.
constexpr Family kGemma2{
    .stem = "Gemma2",
    .model_type = "gemma2",
    .defaults = R"({"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 8192,
                    "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true, "sliding_window": 4096,
                    "query_pre_attn_scalar": 256, "attn_logit_softcapping": 50.0,
                    "final_logit_softcapping": 30.0})",
    .names = kGemmaNames,
    .read =
        [](const ConfigReader& reader, DecoderConfig& config) {
          read_gemma(reader, config);
          read_layer_types(reader, [](int64_t layer) { return layer % 2 == 0; }, config);
        },
};

}  // namespace cohort
