// The config.json of a Hugging Face model directory, as far as the decoder uses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

struct DecoderConfig {
  std::string architecture;  ///< a line of families.def
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  std::vector<int32_t> eos_token_ids;
  Json raw;  ///< the whole file; unknown keys are written back as they came
};

/// Reads `model_dir`/config.json (rope and dtype in the spelling of transformers 4 or 5) and the stop ids of
/// generation_config.json where there is one. Throws FormatError naming the key that is missing, malformed or
/// asks for something unsupported.
DecoderConfig read_decoder_config(const std::filesystem::path& model_dir);

/// The same from a parsed file; `path` is for messages.
DecoderConfig parse_decoder_config(const Json& raw, const std::filesystem::path& path);

/// The families' architecture names, in the order of families.def.
std::vector<std::string> supported_architectures();

}  // namespace cohort
