// config.json in the spellings of the ecosystem, and an error for everything that the decoder would get
// wrong.
#include "cohort/models/decoder_config.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

Json llama() {
  return Json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 128, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 8,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 5e5,
    "tie_word_embeddings": true, "hidden_act": "silu", "torch_dtype": "bfloat16"})");
}

DecoderConfig parse(const Json& raw) { return parse_decoder_config(raw, "m/config.json"); }

TEST(DecoderConfig, ReadsEveryKey) {
  const DecoderConfig config = parse(llama());
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.vocab_size, 128);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.intermediate_size, 96);
  EXPECT_EQ(config.num_hidden_layers, 3);
  EXPECT_EQ(config.num_attention_heads, 8);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.max_position_embeddings, 512);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
  EXPECT_EQ(config.ropes.at(0).rope_theta, 5e5);
  EXPECT_EQ(config.context_length, 512);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_FALSE(config.qkv_bias || config.output_bias || config.mlp_bias || config.qk_norm);
  EXPECT_EQ(config.raw, llama());
}

TEST(DecoderConfig, ReadsTheSpellingOfTransformers5) {
  Json raw = llama();
  raw.erase("rope_theta");
  raw.erase("torch_dtype");
  raw["dtype"] = "bfloat16";
  raw["rope_parameters"] = {{"rope_theta", 1e6}, {"rope_type", "default"}};
  EXPECT_EQ(parse(raw).ropes.at(0).rope_theta, 1e6);
}

TEST(DecoderConfig, TakesDefaultsForNullAndForMissingKeys) {
  Json raw = llama();
  raw["rope_scaling"] = nullptr;
  raw["head_dim"] = nullptr;
  raw["quantization_config"] = nullptr;
  for (const char* key : {"num_key_value_heads", "rope_theta", "rms_norm_eps", "tie_word_embeddings"})
    raw.erase(key);
  const DecoderConfig config = parse(raw);
  EXPECT_EQ(config.num_key_value_heads, 8);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.ropes.at(0).rope_theta, 10000.0);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_FALSE(config.tie_word_embeddings);
}

TEST(DecoderConfig, KnowsTheFamilies) {
  EXPECT_EQ(supported_architectures(),
            (std::vector<std::string>{"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                                      "Qwen3ForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM",
                                      "Qwen3MoeForCausalLM", "MixtralForCausalLM"}));
  Json raw = llama();
  raw["attention_bias"] = true;
  raw["mlp_bias"] = true;
  DecoderConfig config = parse(raw);
  EXPECT_TRUE(config.qkv_bias && config.output_bias && config.mlp_bias && !config.qk_norm);
  raw = llama();
  raw["architectures"] = {"Qwen2ForCausalLM"};
  config = parse(raw);
  EXPECT_TRUE(config.qkv_bias && !config.output_bias && !config.qk_norm);
  raw["architectures"] = {"Qwen3ForCausalLM"};
  raw["head_dim"] = 16;
  config = parse(raw);
  EXPECT_TRUE(!config.qkv_bias && !config.output_bias && config.qk_norm);
  EXPECT_EQ(config.head_dim, 16);
  raw.erase("architectures");
  raw["model_type"] = "qwen2";
  EXPECT_EQ(parse(raw).architecture, "Qwen2ForCausalLM");
}

TEST(DecoderConfig, NamesTheKeyAtFault) {
  struct Case {
    const char* patch;
    const char* message;
  };
  const Case cases[] = {
      {R"({"architectures": ["GPT2LMHeadModel"]})",
       "key \"architectures\" names \"GPT2LMHeadModel\"; supported are"},
      {R"({"architectures": null, "model_type": "mamba"})",
       "key \"architectures\" is missing; supported are"},
      {R"({"vocab_size": null})", "key \"vocab_size\" is missing"},
      {R"({"hidden_size": null})", "key \"hidden_size\" is missing"},
      {R"({"intermediate_size": "96"})", "key \"intermediate_size\" must be an integer"},
      {R"({"num_hidden_layers": 0})", "key \"num_hidden_layers\" must be in 1..10000, is 0"},
      {R"({"num_attention_heads": 2.5})", "key \"num_attention_heads\" must be an integer"},
      {R"({"num_key_value_heads": 3})", "key \"num_key_value_heads\" is 3, which does not divide 8"},
      {R"({"head_dim": 7})", "key \"head_dim\" must be even"},
      {R"({"hidden_size": 4})", "key \"head_dim\" must be even and positive, is 0"},
      {R"({"rms_norm_eps": "small"})", "key \"rms_norm_eps\" must be a number"},
      {R"({"rope_theta": 0})", "key \"rope_theta\" must be positive"},
      {R"({"rope_theta": "big"})", "key \"rope_theta\" must be a number"},
      {R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})",
       "key \"rope_scaling.low_freq_factor\" is missing"},
      {R"({"rope_scaling": {"type": "linear"}})", "key \"rope_scaling.factor\" is missing"},
      {R"({"rope_scaling": {"type": "dynamic", "factor": 0}})",
       "key \"rope_scaling.factor\" must be positive"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1, 2, 3, 4]}})",
       "key \"rope_scaling.short_factor\" must hold 4 positive numbers"},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": "all"}})",
       "key \"rope_scaling.short_factor\" must be a list of numbers"},
      {R"({"rope_scaling": {"type": "mrope"}})",
       "key \"rope_scaling.type\" is \"mrope\"; supported are default"},
      {R"({"rope_scaling": {"type": 3}})", "key \"rope_scaling.type\" must be a string"},
      {R"({"rope_scaling": 3})", "key \"rope_scaling\" must be a JSON object"},
      {R"({"rope_parameters": {"partial_rotary_factor": 0.5}})",
       "key \"rope_parameters.partial_rotary_factor\" is not 1"},
      {R"({"rope_parameters": {"full_attention": []}})",
       "key \"rope_parameters.full_attention\" must be a JSON object"},
      {R"({"hidden_act": "gelu"})", "key \"hidden_act\" is \"gelu\"; supported are"},
      {R"({"vocab_size": 18446744073709551615})", "key \"vocab_size\" must be in 1.."},
      {R"({"quantization_config": {"bits": 4}})", "key \"quantization_config\" is set"},
      {R"({"tie_word_embeddings": 1})", "key \"tie_word_embeddings\" must be true or false"},
      {R"({"eos_token_id": "</s>"})", "key \"eos_token_id\" must be an id or a list of ids"},
      {R"({"eos_token_id": [1, -1]})", "key \"eos_token_id\" must be an id or a list of ids"},
      {R"({"eos_token_id": 5000000000})", "key \"eos_token_id\" must be an id or a list of ids"},
  };
  for (const Case& c : cases) {
    Json raw = llama();
    raw.merge_patch(Json::parse(c.patch));
    const std::string message = message_of<FormatError>([&] { parse(raw); });
    EXPECT_EQ(message.find("m/config.json: "), 0u) << message;
    EXPECT_NE(message.find(c.message), std::string::npos) << message;
  }
  EXPECT_NE(message_of<FormatError>([] { parse(Json::array()); }).find("the file must be a JSON object"),
            std::string::npos);
}

TEST(DecoderConfig, NamesAnAbsurdSizeAndTheKeysThatContradictEachOther) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"head_dim": 2147483648})", "key \"head_dim\" must be in 2..16384, is 2147483648"},
      {R"({"head_dim": -8})", "key \"head_dim\" must be in 2..16384, is -8"},
      {R"({"head_dim": 0})", "key \"head_dim\" must be in 2..16384, is 0"},
      {R"({"num_attention_heads": 8192, "num_key_value_heads": 8192, "head_dim": 16384})",
       "key \"head_dim\" is 16384, which with 8192 heads is wider than 1048576"},
      {R"({"vocab_size": 2147483647})", "key \"vocab_size\" must be in 1..16777216, is 2147483647"},
      {R"({"hidden_size": 1099511627776})", "key \"hidden_size\" must be in 1..1048576"},
      {R"({"intermediate_size": -1})", "key \"intermediate_size\" must be in 1..1048576, is -1"},
      {R"({"num_hidden_layers": 1000000})", "key \"num_hidden_layers\" must be in 1..10000, is 1000000"},
      {R"({"num_key_value_heads": 0})", "key \"num_key_value_heads\" must be in 1.."},
      {R"({"rms_norm_eps": -1e-5})", "key \"rms_norm_eps\" must be positive, is -1e-05"},
      {R"({"rms_norm_eps": 0})", "key \"rms_norm_eps\" must be positive, is 0"},
      {R"({"initializer_range": -0.02})", "key \"initializer_range\" must not be negative"},
      {R"({"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 1000000, "moe_intermediate_size": 8})",
       "key \"num_experts\" must be in 1..333333"},
      {R"({"model_type": "qwen2"})",
       "key \"model_type\" is \"qwen2\" and \"architectures\" names \"LlamaForCausalLM\", whose model_type "
       "is "
       "\"llama\""},
      {R"({"model_type": "gemma3", "architectures": ["Gemma3ForCausalLM"]})",
       "whose model_type is \"gemma3_text\""},
  };
  for (const auto& [patch, part] : kCases) {
    Json raw = llama();
    raw.merge_patch(Json::parse(patch));
    const std::string message = message_of<FormatError>([&] { parse(raw); });
    EXPECT_TRUE(message.starts_with("m/config.json: ")) << message;
    EXPECT_NE(message.find(part), std::string::npos) << patch << ": " << message;
  }
  Json raw = llama();
  raw["model_type"] = "llama";
  EXPECT_EQ(parse(raw).architecture, "LlamaForCausalLM");
}

TEST(DecoderConfig, ReadsWindowsOfEveryFamily) {
  const auto windows = [](Json raw, const char* patch) {
    raw.merge_patch(Json::parse(patch));
    std::vector<int64_t> result;
    for (const LayerConfig& layer : parse(raw).layers) result.push_back(layer.window);
    return result;
  };
  using Windows = std::vector<int64_t>;
  Json raw = llama();
  EXPECT_EQ(windows(raw, "{}"), (Windows{0, 0, 0}));
  raw["architectures"] = {"MistralForCausalLM"};
  EXPECT_EQ(windows(raw, "{}"), (Windows{4096, 4096, 4096}));
  EXPECT_EQ(windows(raw, R"({"sliding_window": 7})"), (Windows{7, 7, 7}));
  raw["sliding_window"] = nullptr;
  EXPECT_EQ(windows(raw, "{}"), (Windows{0, 0, 0}));
  raw["architectures"] = {"Qwen2ForCausalLM"};
  raw["sliding_window"] = 5;
  EXPECT_EQ(windows(raw, "{}"), (Windows{0, 0, 0}));
  EXPECT_EQ(windows(raw, R"({"use_sliding_window": true, "max_window_layers": 2})"), (Windows{0, 0, 5}));
  EXPECT_EQ(windows(raw, R"({"use_sliding_window": true,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]})"),
            (Windows{5, 0, 5}));
  raw["architectures"] = {"Gemma2ForCausalLM"};
  EXPECT_EQ(windows(raw, "{}"), (Windows{5, 0, 5}));
  raw["architectures"] = {"Gemma3ForCausalLM"};
  EXPECT_EQ(windows(raw, R"({"sliding_window_pattern": 2})"), (Windows{5, 0, 5}));
  EXPECT_EQ(windows(raw, "{}"), (Windows{5, 5, 5}));
  raw["layer_types"] = {"full_attention"};
  EXPECT_NE(message_of<FormatError>([&] { parse(raw); }).find("\"layer_types\" must be a list of 3 names"),
            std::string::npos);
  raw["layer_types"] = {"full_attention", "chunked", "full_attention"};
  EXPECT_NE(message_of<FormatError>([&] { parse(raw); }).find("\"layer_types\" names \"chunked\""),
            std::string::npos);
}

TEST(DecoderConfig, ReadsGemmaInBothSpellings) {
  Json raw = llama();
  raw["architectures"] = {"Gemma3ForCausalLM"};
  raw.erase("tie_word_embeddings");
  raw.erase("hidden_act");
  raw.update({{"rope_theta", 2e6}, {"rope_local_base_freq", 300.0}, {"sliding_window", 9}, {"head_dim", 8}});
  raw["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  raw["query_pre_attn_scalar"] = 16;
  raw["hidden_size"] = 144;
  const DecoderConfig old = parse(raw);
  EXPECT_EQ(old.activation, Activation::kGeluTanh);
  EXPECT_TRUE(old.tie_word_embeddings && old.qk_norm);
  EXPECT_EQ(old.norm_offset, 1.0);
  EXPECT_EQ(old.embedding_scale, 12.0);
  EXPECT_EQ(old.attention_scale, 0.25);
  EXPECT_EQ(old.final_softcap, 0.0);
  ASSERT_EQ(old.ropes.size(), 2u);
  EXPECT_EQ(old.ropes[0].rope_type, "linear");
  EXPECT_EQ(old.ropes[0].rope_theta, 2e6);
  EXPECT_EQ(old.ropes[1].rope_type, "default");
  EXPECT_EQ(old.ropes[1].rope_theta, 300.0);
  EXPECT_EQ(old.layers[0].rope, 1);
  for (const char* key : {"rope_theta", "rope_local_base_freq", "rope_scaling"}) raw.erase(key);
  raw["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 2e6}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 300.0}}}};
  EXPECT_EQ(parse(raw).ropes, old.ropes);
  raw["architectures"] = {"Gemma2ForCausalLM"};
  raw.erase("rope_parameters");
  EXPECT_EQ(parse(raw).attention_softcap, 50.0);
  EXPECT_EQ(parse(raw).final_softcap, 30.0);
  raw["final_logit_softcapping"] = nullptr;
  EXPECT_EQ(parse(raw).final_softcap, 0.0);
}

TEST(DecoderConfig, ReadsExperts) {
  Json raw = llama();
  raw["architectures"] = {"Qwen3MoeForCausalLM"};
  raw.update({{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 24}});
  raw["mlp_only_layers"] = {2};
  const DecoderConfig config = parse(raw);
  EXPECT_EQ(config.num_experts, 6);
  EXPECT_TRUE(config.layers[0].has_experts && config.layers[1].has_experts && !config.layers[2].has_experts);
  EXPECT_FALSE(config.norm_topk_prob);
  raw["decoder_sparse_step"] = 2;
  EXPECT_FALSE(parse(raw).layers[0].has_experts);
  raw["num_experts_per_tok"] = 7;
  EXPECT_NE(message_of<FormatError>([&] { parse(raw); }).find("\"num_experts_per_tok\" must be in 1..6"),
            std::string::npos);
  raw = llama();
  raw["architectures"] = {"MixtralForCausalLM"};
  EXPECT_EQ(parse(raw).num_experts, 8);
  EXPECT_EQ(parse(raw).moe_intermediate_size, 96);
  EXPECT_TRUE(parse(raw).norm_topk_prob && parse(raw).layers[2].has_experts);
}

TEST(DecoderConfig, AllowsTheContextOfAScaling) {
  Json raw = llama();
  raw["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 256}};
  EXPECT_EQ(parse(raw).context_length, 1024);
  raw["rope_scaling"]["original_max_position_embeddings"] = 64;
  EXPECT_EQ(parse(raw).context_length, 512);
  raw["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}, {"original_max_position_embeddings", 512}};
  EXPECT_EQ(parse(raw).context_length, 1024);
  raw["rope_scaling"] = {{"type", "dynamic"}, {"factor", 4.0}};
  EXPECT_EQ(parse(raw).context_length, 2048);
  raw["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  EXPECT_EQ(parse(raw).context_length, 512);
}

TEST(DecoderConfig, ReadsClassificationHeads) {
  Json raw = llama();
  raw["architectures"] = {"LlamaForSequenceClassification"};
  raw["id2label"] = {{"0", "bad"}, {"1", "fair"}, {"2", "good"}};
  EXPECT_EQ(parse(raw).head, HeadKind::kSequenceClassification);
  EXPECT_EQ(parse(raw).num_labels, 3);
  EXPECT_FALSE(parse(raw).tie_word_embeddings);
  raw["architectures"] = {"LlamaForTokenClassification"};
  raw["num_labels"] = 1;
  EXPECT_EQ(parse(raw).num_labels, 1);
}

TEST(DecoderConfig, NotesNoiseThatItLeavesAside) {
  Json raw = llama();
  raw["attention_dropout"] = 0.1;
  ASSERT_EQ(parse(raw).notes.size(), 1u);
  EXPECT_NE(parse(raw).notes[0].find("\"attention_dropout\""), std::string::npos);
}

TEST(DecoderConfig, CollectsStopIdsOfBothFiles) {
  const TemporaryDirectory directory;
  Json raw = llama();
  raw["eos_token_id"] = 7;
  write_json(directory.path() / "config.json", raw);
  EXPECT_EQ(read_decoder_config(directory.path()).eos_token_ids, (std::vector<int32_t>{7}));
  write_text(directory.path() / "generation_config.json", R"({"eos_token_id": [9, 7, 3]})");
  EXPECT_EQ(read_decoder_config(directory.path()).eos_token_ids, (std::vector<int32_t>{7, 9, 3}));
}

TEST(DecoderConfig, NamesTheFileAtFault) {
  const TemporaryDirectory directory;
  EXPECT_NE(
      message_of<FormatError>([&] { read_decoder_config(directory.path() / "none"); }).find("no such model"),
      std::string::npos);
  EXPECT_NE(message_of<FormatError>([&] { read_decoder_config(directory.path()); }).find("config.json"),
            std::string::npos);
  write_text(directory.path() / "config.json", "{\"vocab_size\": 3,\n oops");
  EXPECT_NE(message_of<FormatError>([&] { read_decoder_config(directory.path()); }).find("config.json"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
