// Small random decoders whose every part matters: weights scaled so that norms, biases, rope and q/k norm all
// move the result.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cohort/models/decoder.h"

namespace cohort {

/// The number of threads while it lives. One is fastest for tiny tensors: threads of a busy machine wait for
/// each other.
class ThreadCount {
 public:
  explicit ThreadCount(int count) { at::set_num_threads(count); }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  const int before_ = at::get_num_threads();
};

/// The families' language model classes.
inline const char* const kArchitectures[] = {"LlamaForCausalLM",    "MistralForCausalLM", "Qwen2ForCausalLM",
                                             "Qwen3ForCausalLM",    "Gemma2ForCausalLM",  "Gemma3ForCausalLM",
                                             "Qwen3MoeForCausalLM", "MixtralForCausalLM"};

/// A sequence for the tiny configs' vocabulary.
inline const std::vector<int64_t> kTokens{5, 299, 0, 17, 17, 42, 250, 3};

/// config.json of a family; Llama has biases and an own head, Qwen2 is tied, Qwen3 has wide heads, windows
/// are shorter than the tests' sequences.
inline Json tiny_config(const std::string& architecture) {
  Json config = Json::parse(R"({
    "vocab_size": 300, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "initializer_range": 0.02, "tie_word_embeddings": false, "hidden_act": "silu", "torch_dtype": "float32"})");
  config["architectures"] = {architecture};
  if (architecture == "LlamaForCausalLM") config.update({{"attention_bias", true}, {"mlp_bias", true}});
  if (architecture == "Qwen2ForCausalLM") config["tie_word_embeddings"] = true;
  if (architecture == "Qwen3ForCausalLM") config["head_dim"] = 24;
  if (architecture == "MistralForCausalLM") config["sliding_window"] = 9;
  if (architecture.starts_with("Gemma")) {
    config.update({{"head_dim", 24}, {"hidden_act", "gelu_pytorch_tanh"}, {"query_pre_attn_scalar", 40}});
    config.update({{"sliding_window", 9}, {"sliding_window_pattern", 2}, {"tie_word_embeddings", true}});
  }
  if (architecture == "Gemma2ForCausalLM") {
    config.update({{"attn_logit_softcapping", 2.0}, {"final_logit_softcapping", 4.0}});
  }
  if (architecture == "Qwen3MoeForCausalLM") {
    config.update({{"num_experts", 5}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 40}});
    config.update({{"head_dim", 16}, {"norm_topk_prob", true}});
  }
  if (architecture == "MixtralForCausalLM") {
    config.update({{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"sliding_window", nullptr}});
  }
  return config;
}

/// Gives every weight new random values.
inline void randomize(Decoder& decoder, uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::manual_seed(seed);
  for (const auto& [name, weight] : decoder.named_weights()) {
    if (name.find("norm") != std::string::npos) {
      weight.normal_(1.0 - decoder.config().norm_offset, 0.3);
    } else if (weight.dim() == 1) {
      weight.normal_(0.0, 0.5);
    } else {
      weight.normal_(0.0, 1.5 / std::sqrt(static_cast<double>(weight.size(1))));
    }
  }
  decoder.refresh();
}

inline std::unique_ptr<Decoder> tiny_decoder(const Json& config, at::ScalarType compute, uint64_t seed = 1) {
  auto decoder = std::make_unique<Decoder>(parse_decoder_config(config, "config.json"), compute, at::kCPU);
  randomize(*decoder, seed);
  return decoder;
}

/// Gives every leaf of a decoder's adapters new random values.
inline void randomize_adapters(Decoder& decoder, uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::manual_seed(seed);
  for (const auto& [name, weight] : decoder.adapter_weights()) {
    if (weight.dim() == 1) {
      weight.mul_(at::rand(weight.sizes()) + 0.5);
    } else {
      weight.normal_(0.0, 0.5 / std::sqrt(static_cast<double>(weight.size(1))));
    }
  }
  decoder.refresh();
}

/// A tiny decoder, frozen, with adapters on all projections.
inline std::unique_ptr<Decoder> tiny_adapted_decoder(const Json& config, at::ScalarType compute,
                                                     const LoraConfig& lora) {
  auto decoder = std::make_unique<Decoder>(parse_decoder_config(config, "config.json"), compute, at::kCPU,
                                           std::nullopt, /*is_frozen=*/true);
  randomize(*decoder, 1);
  decoder->adapt(lora, 1);
  randomize_adapters(*decoder, 2);
  return decoder;
}

/// The logits of every token of one sequence, [N, V].
inline at::Tensor all_logits(const Decoder& decoder, const std::vector<int64_t>& token_ids,
                             const AdapterUse& adapters = {}) {
  const at::NoGradGuard no_grad;
  const auto count = static_cast<int64_t>(token_ids.size());
  DecoderInput input;
  input.token_ids = at::tensor(token_ids, at::kLong);
  input.positions = at::arange(count, at::kLong);
  input.plan.add_sequence(0, count, 0, {{0, count}});
  input.adapters = adapters;
  const at::Tensor rows = decoder.head_input(decoder.forward(input), at::arange(count, at::kLong));
  return decoder.head(adapters).product(rows, adapters);
}

}  // namespace cohort
