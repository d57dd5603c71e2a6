// The config.json of a Hugging Face model directory, as far as the decoder uses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/models/rope.h"
#include "cohort/ops/gated_activation.h"

namespace cohort {

/// What stands on top of the decoder.
enum class HeadKind {
  kCausalLm,
  kSequenceClassification,  ///< "score": num_labels scores of a sequence's last token
  kTokenClassification,     ///< "score": num_labels scores of every token
};

/// Names of a layer's parts on disk, behind "model.layers.N.".
struct WeightNames {
  const char* attention_norm = "input_layernorm";
  const char* post_attention_norm = nullptr;  ///< behind attention; null: none
  const char* mlp_norm = "post_attention_layernorm";
  const char* post_mlp_norm = nullptr;
  const char* router = nullptr;
  const char* experts = nullptr;  ///< a number and an expert's part follow
  const char* expert_gate = "gate_proj";
  const char* expert_up = "up_proj";
  const char* expert_down = "down_proj";
};

struct LayerConfig {
  int64_t window = 0;        ///< positions that a query sees, itself included; 0: all before it
  int64_t rope = 0;          ///< index in DecoderConfig::ropes
  bool has_experts = false;  ///< in place of the MLP
};

struct DecoderConfig {
  std::string architecture;  ///< the class name in config.json
  HeadKind head = HeadKind::kCausalLm;
  WeightNames names;
  std::vector<LayerConfig> layers;
  std::vector<RopeConfig> ropes;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  int64_t context_length = 0;  ///< the longest sequence: max_position_embeddings, or more by a rope scaling
  int64_t sliding_window = 0;
  int64_t num_labels = 0;  ///< of a classification head
  bool head_bias = false;  ///< of a classification head
  int64_t num_experts = 0;
  int64_t num_experts_per_tok = 0;
  int64_t moe_intermediate_size = 0;
  bool norm_topk_prob = false;
  double rms_norm_eps = 1e-6;
  double norm_offset = 0.0;
  double embedding_scale = 1.0;
  double attention_scale = 0.0;
  double attention_softcap = 0.0;
  double final_softcap = 0.0;
  double initializer_range = 0.02;
  Activation activation = Activation::kSilu;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  std::vector<int32_t> eos_token_ids;
  std::vector<int32_t> pad_token_ids;  ///< none or one
  std::vector<std::string> notes;      ///< keys that other libraries heed and this one leaves aside, and why
  Json raw;                            ///< the whole file; unknown keys are written back as they came
};

/// Reads `model_dir`/config.json (rope and dtype in the spelling of transformers 4 or 5) and the stop ids of
/// generation_config.json where there is one. Throws FormatError naming the key that is missing, malformed or
/// asks for something unsupported.
DecoderConfig read_decoder_config(const std::filesystem::path& model_dir);

/// The same from a parsed file; `path` is for messages.
DecoderConfig parse_decoder_config(const Json& raw, const std::filesystem::path& path);

/// The config.json `raw` of a model of the same family with a classification head in the place of its own.
/// Throws FormatError where transformers has no such class.
Json config_with_head(const Json& raw, const std::filesystem::path& path, HeadKind head, int64_t num_labels);

/// A label's place by its name in "id2label" or its number; nothing for one that the head does not have.
std::optional<int64_t> find_label(const DecoderConfig& config, const std::string& label);

/// A model's config.json read as far as it can be.
struct ConfigReport {
  std::optional<DecoderConfig> config;   ///< as if the refused keys were absent; none where that is no model
  std::vector<std::string> unsupported;  ///< for each refused key what read_decoder_config would say of it
};

/// What `cohort info` shows. Throws FormatError when there is no JSON object to read.
ConfigReport inspect_decoder_config(const std::filesystem::path& model_dir);

/// The families' language model classes, in the order of families.def.
std::vector<std::string> supported_architectures();

}  // namespace cohort
