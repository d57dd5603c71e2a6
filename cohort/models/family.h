// What distinguishes the families of decoders. A family is one file in families/ and one line in
// families.def.
#pragma once

#include <functional>

#include "cohort/models/config_reader.h"
#include "cohort/models/decoder_config.h"

namespace cohort {

struct Family {
  const char* stem;                 ///< its classes are STEMForCausalLM, STEMForSequenceClassification, ...
  const char* head_stem = nullptr;  ///< of the classification classes where it is another one
  bool has_token_head = true;       ///< whether transformers has its ForTokenClassification
  const char* model_type;           ///< of config.json
  const char* defaults;  ///< JSON: values of keys that a config.json may leave out, as in transformers
  WeightNames names;

  /// Fills what differs from the common decoder. Throws FormatError naming the key.
  void (*read)(const ConfigReader& reader, DecoderConfig& config);
};

#define FAMILY(name) extern const Family name;
#include "cohort/models/families.def"
#undef FAMILY

/// Windows by "layer_types"; without that key, layer i sees a window where `slides(i)` says so.
void read_layer_types(const ConfigReader& reader, const std::function<bool(int64_t layer)>& slides,
                      DecoderConfig& config);

/// Qwen2 and Qwen3: with use_sliding_window the layers from max_window_layers on see a window.
void read_max_window_layers(const ConfigReader& reader, DecoderConfig& config);

/// Gemma: (1 + w) norms before and behind each block, scaled embeddings, an own scale of scores.
void read_gemma(const ConfigReader& reader, DecoderConfig& config);
inline constexpr WeightNames kGemmaNames{.post_attention_norm = "post_attention_layernorm",
                                         .mlp_norm = "pre_feedforward_layernorm",
                                         .post_mlp_norm = "post_feedforward_layernorm"};

/// Experts in the layers that `has_experts` names.
void read_moe(const ConfigReader& reader, const char* num_experts_key, const char* intermediate_size_key,
              bool norm_topk_prob, const std::function<bool(int64_t layer)>& has_experts,
              DecoderConfig& config);

}  // namespace cohort
