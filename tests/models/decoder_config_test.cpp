// config.json in the spellings of the ecosystem, and an error for everything that the decoder would get
// wrong.
#include "cohort/models/decoder_config.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

Json llama() {
  return Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128,
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 8,
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
  EXPECT_EQ(config.rope_theta, 5e5);
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
  EXPECT_EQ(parse(raw).rope_theta, 1e6);
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
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_FALSE(config.tie_word_embeddings);
}

TEST(DecoderConfig, KnowsTheFamilies) {
  EXPECT_EQ(supported_architectures(),
            (std::vector<std::string>{"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}));
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
      {R"({"num_hidden_layers": 0})", "key \"num_hidden_layers\" must be in 1..100000, is 0"},
      {R"({"num_attention_heads": 2.5})", "key \"num_attention_heads\" must be an integer"},
      {R"({"num_key_value_heads": 3})", "key \"num_key_value_heads\" is 3, which does not divide 8"},
      {R"({"head_dim": 7})", "key \"head_dim\" must be even"},
      {R"({"hidden_size": 4})", "key \"head_dim\" must be even and positive, is 0"},
      {R"({"rms_norm_eps": "small"})", "key \"rms_norm_eps\" must be a number"},
      {R"({"rope_theta": 0})", "key \"rope_theta\" must be positive"},
      {R"({"rope_theta": "big"})", "key \"rope_theta\" must be a number"},
      {R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})",
       "key \"rope_scaling.rope_type\" is \"llama3\""},
      {R"({"rope_scaling": {"type": "linear", "factor": 2.0}})", "key \"rope_scaling.type\" is \"linear\""},
      {R"({"rope_parameters": {"rope_type": "yarn"}})", "key \"rope_parameters.rope_type\" is \"yarn\""},
      {R"({"hidden_act": "gelu"})", "key \"hidden_act\" is \"gelu\"; only \"silu\" is supported"},
      {R"({"use_sliding_window": true})", "key \"use_sliding_window\" is true"},
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
  EXPECT_NE(message_of<FormatError>([] { parse(Json::array()); }).find("expected a JSON object"),
            std::string::npos);
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
