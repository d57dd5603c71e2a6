#include "cohort/models/family.h"

#include <cmath>

#include "cohort/core/error.h"

namespace cohort {

void read_layer_types(const ConfigReader& reader, const std::function<bool(int64_t layer)>& slides,
                      DecoderConfig& config) {
  config.sliding_window = reader.integer_or("sliding_window", 0, 1);
  const auto num_layers = static_cast<int64_t>(config.layers.size());
  const bool is_listed = reader.has("layer_types");
  if (is_listed && (!reader.at("layer_types").is_array() ||
                    static_cast<int64_t>(reader.at("layer_types").size()) != num_layers)) {
    reader.fail("layer_types", str("must be a list of ", num_layers, " names, one a layer"));
  }
  for (int64_t i = 0; i < num_layers; ++i) {
    bool is_sliding = slides(i);
    if (is_listed) {
      const Json& type = reader.at("layer_types")[i];
      is_sliding = type == "sliding_attention";
      if (!is_sliding && type != "full_attention") {
        reader.fail("layer_types", str("names ", type.dump(),
                                       "; supported are \"full_attention\" and \"sliding_attention\""));
      }
    }
    config.layers[i].window = is_sliding ? config.sliding_window : 0;
    config.layers[i].rope = is_sliding && config.ropes.size() > 1 ? 1 : 0;
  }
}

void read_max_window_layers(const ConfigReader& reader, DecoderConfig& config) {
  if (!reader.flag_or("use_sliding_window", false)) return;
  const int64_t first = reader.integer("max_window_layers", 0);
  read_layer_types(reader, [&](int64_t layer) { return layer >= first; }, config);
}

void read_gemma(const ConfigReader& reader, DecoderConfig& config) {
  config.qkv_bias = config.output_bias = reader.flag_or("attention_bias", false);
  config.norm_offset = 1.0;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.attention_scale = 1.0 / std::sqrt(reader.number("query_pre_attn_scalar"));
  config.attention_softcap = reader.number_or("attn_logit_softcapping", 0.0);
  config.final_softcap = reader.number_or("final_logit_softcapping", 0.0);
  for (const char* key : {"query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"}) {
    if (reader.has(key) && !(reader.number(key) > 0.0)) reader.fail(key, "must be positive");
  }
}

// Of all layers together.
constexpr int64_t kMaxExperts = 1'000'000;
constexpr int64_t kMaxExpertWidth = 1 << 20;

void read_moe(const ConfigReader& reader, const char* num_experts_key, const char* intermediate_size_key,
              bool norm_topk_prob, const std::function<bool(int64_t layer)>& has_experts,
              DecoderConfig& config) {
  config.num_experts =
      reader.integer(num_experts_key, 1, kMaxExperts / static_cast<int64_t>(config.layers.size()));
  config.num_experts_per_tok = reader.integer("num_experts_per_tok", 1, config.num_experts);
  config.moe_intermediate_size = reader.integer(intermediate_size_key, 1, kMaxExpertWidth);
  config.norm_topk_prob = norm_topk_prob;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].has_experts = has_experts(static_cast<int64_t>(i));
  }
}

}  // namespace cohort
