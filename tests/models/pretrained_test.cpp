// Model directories: what is written reads back the same, and what does not fit is named.
#include "cohort/models/pretrained.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/tensor/weight_files.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class PretrainedTest : public testing::Test {
 protected:
  fs::path path(const char* name) const { return directory_.path() / name; }

  /// A model directory as another program would write it.
  fs::path write_model(const char* name, const Json& config, const NamedTensors& weights) const {
    fs::create_directories(path(name));
    write_json(path(name) / "config.json", config);
    write_weights(path(name), weights);
    return path(name);
  }

  const ThreadCount one_thread_{1};
  TemporaryDirectory directory_;
};

class PretrainedFamilyTest : public PretrainedTest, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Families, PretrainedFamilyTest,
                         testing::Values("LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"));

/// Copies, so that a test can change them.
NamedTensors weights_of(const Decoder& decoder) {
  NamedTensors weights;
  for (const auto& [name, weight] : decoder.named_weights()) weights.emplace_back(name, weight.clone());
  return weights;
}

at::Tensor& find(NamedTensors& weights, const std::string& name) {
  const auto found =
      std::find_if(weights.begin(), weights.end(), [&](const auto& w) { return w.first == name; });
  COHORT_CHECK(found != weights.end(), name);
  return found->second;
}

void expect_same_weights(const Decoder& a, const Decoder& b) {
  ASSERT_EQ(a.named_weights().size(), b.named_weights().size());
  for (size_t i = 0; i < a.named_weights().size(); ++i) {
    EXPECT_EQ(a.named_weights()[i].first, b.named_weights()[i].first);
    EXPECT_TRUE(at::equal(a.named_weights()[i].second, b.named_weights()[i].second))
        << a.named_weights()[i].first;
  }
}

TEST_P(PretrainedFamilyTest, RoundTripKeepsEveryBit) {
  Json config = tiny_config(GetParam());
  config["my_own_key"] = {{"depth", 2}};
  const auto decoder = tiny_decoder(config, at::kFloat);
  const fs::path source = path("source");
  fs::create_directories(source);
  write_text(source / "tokenizer.json", "{}");
  write_text(source / "generation_config.json", R"({"eos_token_id": 4})");
  write_text(source / "model.safetensors", "stale");
  save_pretrained(*decoder, source, path("model"));
  const auto loaded = load_pretrained(path("model"), at::kFloat, at::kCPU);
  expect_same_weights(*decoder, *loaded);
  EXPECT_TRUE(at::equal(all_logits(*decoder, kTokens), all_logits(*loaded, kTokens)));
  EXPECT_EQ(loaded->config().raw, config);
  EXPECT_EQ(loaded->config().eos_token_ids, (std::vector<int32_t>{4}));
  EXPECT_EQ(read_text(path("model") / "tokenizer.json"), "{}");
  EXPECT_FALSE(fs::exists(path("model.tmp")));
}

TEST_P(PretrainedFamilyTest, Bfloat16LoadsToTheSameComputation) {
  Json config = tiny_config(GetParam());
  config.erase("torch_dtype");
  const auto decoder = tiny_decoder(config, at::kBFloat16);
  fs::create_directories(path("source"));
  save_pretrained(*decoder, path("source"), path("model"));
  EXPECT_EQ(read_json(path("model") / "config.json").at("dtype"), "bfloat16");
  EXPECT_EQ(WeightReader::open(path("model")).info("model.norm.weight").dtype, at::kBFloat16);
  const auto loaded = load_pretrained(path("model"), at::kBFloat16, at::kCPU);
  // Norm weights stay float32 in the computation of a run; on disk they are rounded like everything else.
  save_pretrained(*loaded, path("model"), path("again"));
  expect_same_weights(*loaded, *load_pretrained(path("again"), at::kBFloat16, at::kCPU));
  EXPECT_EQ(read_text(path("model") / "model.safetensors"), read_text(path("again") / "model.safetensors"));
}

TEST_P(PretrainedFamilyTest, RefusesMissingExtraAndMisshapenTensors) {
  const Json config = tiny_config(GetParam());
  const auto decoder = tiny_decoder(config, at::kFloat);
  NamedTensors weights = weights_of(*decoder);
  expect_same_weights(*decoder,
                      *load_pretrained(write_model("whole", config, weights), at::kFloat, at::kCPU));
  const auto target = tiny_decoder(config, at::kFloat, 2);
  for (const auto& [name, weight] : decoder->named_weights()) {
    NamedTensors fewer;
    for (const auto& entry : weights) {
      if (entry.first != name) fewer.push_back(entry);
    }
    fs::remove_all(path("fewer"));
    const fs::path model = write_model("fewer", config, fewer);
    const std::string message = message_of<FormatError>([&] { load_weights(model, *target); });
    EXPECT_NE(message.find("lack the tensor \"" + name + "\""), std::string::npos) << message;
  }
  NamedTensors more = weights;
  more.emplace_back("model.layers.2.input_layernorm.weight", at::ones({48}));
  std::string message = message_of<FormatError>(
      [&] { load_pretrained(write_model("more", config, more), at::kFloat, at::kCPU); });
  EXPECT_NE(message.find("\"model.layers.2.input_layernorm.weight\" has no place"), std::string::npos)
      << message;
  const std::string name = "model.layers.1.self_attn.k_proj.weight";
  for (const at::Tensor& wrong :
       {find(weights, name).narrow(1, 0, 47).contiguous(), find(weights, name).to(at::kInt)}) {
    NamedTensors changed = weights;
    find(changed, name) = wrong;
    fs::remove_all(path("changed"));
    const fs::path model = write_model("changed", config, changed);
    message = message_of<FormatError>([&] { load_pretrained(model, at::kFloat, at::kCPU); });
    EXPECT_NE(message.find("tensor \"" + name + "\" is "), std::string::npos) << message;
  }
}

TEST_F(PretrainedTest, ATiedHeadMayBeWrittenTwiceButNotDiffer) {
  const Json config = tiny_config("Qwen2ForCausalLM");
  const auto decoder = tiny_decoder(config, at::kFloat);
  NamedTensors weights = weights_of(*decoder);
  EXPECT_TRUE(std::none_of(weights.begin(), weights.end(),
                           [](const auto& w) { return w.first == "lm_head.weight"; }));
  weights.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", at::ones({6}));
  weights.emplace_back("lm_head.weight", find(weights, "model.embed_tokens.weight").clone());
  expect_same_weights(*decoder,
                      *load_pretrained(write_model("twice", config, weights), at::kFloat, at::kCPU));
  find(weights, "lm_head.weight")[3][5] += 1.0;
  const fs::path model = write_model("differs", config, weights);
  const std::string message = message_of<FormatError>([&] { load_pretrained(model, at::kFloat, at::kCPU); });
  EXPECT_NE(message.find("\"lm_head.weight\" differs from \"model.embed_tokens.weight\""), std::string::npos)
      << message;
}

TEST_F(PretrainedTest, ReplacesAnOlderModel) {
  const auto first = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat, 1);
  const auto second = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat, 2);
  fs::create_directories(path("source"));
  save_pretrained(*first, path("source"), path("model"));
  save_pretrained(*second, path("source"), path("model"));
  const auto loaded = load_pretrained(path("model"), at::kFloat, at::kCPU);
  expect_same_weights(*second, *loaded);
  load_weights(path("model"), *first);
  EXPECT_TRUE(at::equal(all_logits(*first, kTokens), all_logits(*second, kTokens)));
}

TEST_F(PretrainedTest, RandomWeightsAreAFunctionOfTheSeed) {
  const DecoderConfig config = parse_decoder_config(tiny_config("Qwen3ForCausalLM"), "config.json");
  const Decoder a(config, at::kFloat, at::kCPU, 5), b(config, at::kFloat, at::kCPU, 5),
      c(config, at::kFloat, at::kCPU, 6);
  expect_same_weights(a, b);
  EXPECT_FALSE(at::equal(a.named_weights()[0].second, c.named_weights()[0].second));
  EXPECT_NEAR(a.named_weights()[0].second.std().item<double>(), 0.02, 0.001);
}

}  // namespace
}  // namespace cohort
