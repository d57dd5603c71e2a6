// Adapters of a model: which modules get them, PEFT's files, and what off means.
#include "cohort/models/adapter.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/tensor/weight_files.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const std::string kQ = "model.layers.1.self_attn.q_proj", kDown = "model.layers.0.mlp.down_proj";

TEST(LoraConfig, ChoosesModulesAsPeftDoes) {
  LoraConfig config;
  EXPECT_TRUE(is_targeted(config, kQ, false));
  EXPECT_FALSE(is_targeted(config, "lm_head", true)) << "all-linear leaves the output out";
  config.target_modules = {"q_proj", "lm_head"};
  EXPECT_TRUE(is_targeted(config, kQ, false) && is_targeted(config, "lm_head", true));
  EXPECT_FALSE(is_targeted(config, kDown, false));
  config.target_modules = {"proj"};
  EXPECT_FALSE(is_targeted(config, kQ, false)) << "names match whole parts";
  config.target_modules = {"layers.1.self_attn.q_proj"};
  EXPECT_TRUE(is_targeted(config, kQ, false));
  config.exclude_modules = {"q_proj"};
  EXPECT_FALSE(is_targeted(config, kQ, false));
  config = {.target_modules = {"q_proj"}, .layers_to_transform = {0, 1}};
  EXPECT_TRUE(is_targeted(config, kQ, false));
  config.layers_to_transform = {2};
  EXPECT_FALSE(is_targeted(config, kQ, false));
  EXPECT_FALSE(is_targeted(config, "head.q_proj", false)) << "no layer's";
  config.target_modules = {kQ};
  EXPECT_TRUE(is_targeted(config, kQ, false)) << "a whole name is always one";
  config = {.target_modules = {"q_proj"}, .layers_to_transform = {1}, .layers_pattern = {"blocks", "layers"}};
  EXPECT_TRUE(is_targeted(config, kQ, false));
  config.layers_pattern = {"blocks"};
  EXPECT_FALSE(is_targeted(config, kQ, false));
  config = {.target_pattern = R"(.*\.layers\.\d+\.self_attn\.[qv]_proj)"};
  EXPECT_TRUE(is_targeted(config, kQ, false));
  EXPECT_FALSE(is_targeted(config, kQ + "x", false)) << "a pattern matches the whole name";
  config.exclude_pattern = ".*layers.1.*";
  EXPECT_FALSE(is_targeted(config, kQ, false));
  config.target_pattern = "(";
  config.exclude_pattern.clear();
  EXPECT_NE(message_of<ConfigError>([&] { is_targeted(config, kQ, false); }).find("no regular expression"),
            std::string::npos);
}

TEST(LoraConfig, ScalesByAlphaAndRank) {
  LoraConfig config{.r = 4, .alpha = 6.0};
  EXPECT_EQ(lora_shape(config, kQ).scale, 1.5);
  config.use_rslora = true;
  EXPECT_EQ(lora_shape(config, kQ).scale, 3.0);
  config.rank_pattern = {{"q_proj", 9}};
  config.alpha_pattern = {{R"(layers\.\d+\.self_attn\.q_proj)", 12.0}};
  EXPECT_EQ(lora_shape(config, kQ).r, 9);
  EXPECT_EQ(lora_shape(config, kQ).scale, 4.0);
  EXPECT_EQ(lora_shape(config, kDown).r, 4);
}

class AdapterTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto base = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
    fs::create_directories(base_dir());
    write_json(base_dir() / "config.json", base->config().raw);
    write_weights(base_dir(), base->named_weights());
    base_logits_ = all_logits(*base, kTokens);
  }

  fs::path base_dir() const { return directory_.path() / "base"; }
  fs::path adapter_dir() const { return directory_.path() / "adapter"; }

  /// The base with adapters that are not zero.
  std::unique_ptr<Decoder> adapted(const LoraConfig& config) const {
    auto decoder = load_pretrained(base_dir(), at::kFloat, at::kCPU, HeadKind::kCausalLm, true);
    decoder->adapt(config, 1);
    randomize_adapters(*decoder, 2);
    return decoder;
  }

  std::string message_of_load(const Json& patch) const {
    const auto decoder = adapted({.r = 2, .target_modules = {"q_proj"}});
    save_adapter(*decoder, base_dir(), adapter_dir());
    Json config = read_json(adapter_dir() / "adapter_config.json");
    config.merge_patch(patch);
    write_json(adapter_dir() / "adapter_config.json", config);
    return message_of<UserError>([&] { load_adapted(base_dir(), adapter_dir(), at::kFloat, at::kCPU); });
  }

  const ThreadCount one_thread_{1};
  TemporaryDirectory directory_;
  at::Tensor base_logits_;
};

TEST_F(AdapterTest, ReadsWhatItWrote) {
  for (const bool use_dora : {false, true}) {
    const LoraConfig config{.r = 3,
                            .alpha = 5.0,
                            .use_dora = use_dora,
                            .rank_pattern = {{"q_proj", 2}},
                            .modules_to_save = {"lm_head", "embed_tokens"}};
    const auto decoder = adapted(config);
    const at::Tensor logits = all_logits(*decoder, kTokens);
    EXPECT_GT((logits - base_logits_).abs().max().item<float>(), 0.1f);
    save_adapter(*decoder, base_dir(), adapter_dir());
    EXPECT_FALSE(fs::exists(adapter_dir() / "config.json"));
    const auto read = load_adapted(base_dir(), adapter_dir(), at::kFloat, at::kCPU);
    EXPECT_TRUE(at::equal(all_logits(*read, kTokens), logits));
    EXPECT_EQ(read->lora_config().modules_to_save, config.modules_to_save);
    EXPECT_EQ(read->lora_config().target_modules.size(), 7u) << "all-linear is written as names";
    EXPECT_TRUE(at::equal(all_logits(*read, kTokens, {.enabled = false}), base_logits_))
        << "off is the base, saved modules too";
  }
}

TEST_F(AdapterTest, AFreshAdapterChangesNothing) {
  auto decoder = load_pretrained(base_dir(), at::kFloat, at::kCPU, HeadKind::kCausalLm, true);
  decoder->adapt({.r = 3, .modules_to_save = {"lm_head"}}, 1);
  EXPECT_TRUE(at::allclose(all_logits(*decoder, kTokens), base_logits_, 1e-5, 1e-5));
  EXPECT_EQ(decoder->parameters().size(), decoder->adapter_weights().size());
  for (const auto& [name, weight] : decoder->named_weights()) EXPECT_FALSE(weight.requires_grad()) << name;
}

TEST_F(AdapterTest, MergesIntoAPlainModel) {
  const LoraConfig config{.r = 3, .use_dora = true, .modules_to_save = {"embed_tokens"}};
  const auto decoder = adapted(config);
  save_adapter(*decoder, base_dir(), adapter_dir());
  merge_adapter(base_dir(), adapter_dir(), directory_.path() / "merged");
  const auto merged = load_pretrained(directory_.path() / "merged", at::kFloat, at::kCPU);
  EXPECT_TRUE(at::allclose(all_logits(*merged, kTokens), all_logits(*decoder, kTokens), 1e-4, 1e-4));
}

TEST_F(AdapterTest, CopiesAModelWithoutAnAdapter) {
  write_text(base_dir() / "tokenizer.json", "{}");
  copy_pretrained(base_dir(), directory_.path() / "copy");
  EXPECT_EQ(read_json(directory_.path() / "copy/config.json"), read_json(base_dir() / "config.json"));
  EXPECT_TRUE(fs::exists(directory_.path() / "copy/tokenizer.json"));
  const WeightReader before = WeightReader::open(base_dir()),
                     after = WeightReader::open(directory_.path() / "copy");
  ASSERT_EQ(before.names(), after.names());
  for (const std::string& name : before.names())
    EXPECT_TRUE(at::equal(before.tensor(name), after.tensor(name)));
}

TEST_F(AdapterTest, NamesWhatItCannotDo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"peft_type": "IA3"})", "\"peft_type\" must be \"LORA\""},
      {R"({"bias": "all"})", "\"bias\" is \"all\", which is not supported"},
      {R"({"fan_in_fan_out": true})", "\"fan_in_fan_out\" is true"},
      {R"({"layers_to_transform": ["x"]})", "\"layers_to_transform\" must be the number of a layer"},
      {R"({"layers_to_transform": [1]})", "has no place in the model"},
      {R"({"layers_to_transform": [7]})", "target_modules fits no module"},
      {R"({"layers_to_transform": 1, "target_modules": ".*q_proj"})", "as a list of names"},
      {R"({"layers_pattern": "layers"})", "no effect without"},
      {R"({"layers_to_transform": 1, "layers_pattern": "("})", "is no regular expression"},
      {R"({"target_parameters": ["x"]})", "\"target_parameters\""},
      {R"({"r": 0})", "\"r\" must be in 1.."},
      {R"({"r": 3})", "asks for a floating-point tensor of"},
      {R"({"target_modules": ["nothing"]})", "target_modules fits no module"},
      {R"({"target_modules": 3})", "\"target_modules\" must be a string or a list of strings"},
      {R"({"target_modules": ["q_proj", "v_proj"]})", "lacks the tensor"},
      {R"({"target_modules": ["v_proj"]})", "lacks the tensor"},
      {R"({"modules_to_save": ["norm"]})", "modules_to_save: \"norm\" is not supported"},
      {R"({"rank_pattern": {"q_proj": 0}})", "\"rank_pattern\" \"q_proj\" must be at least 1"},
      {R"({"rank_pattern": {"q_proj": "2"}})", "\"rank_pattern\" \"q_proj\" must be a number"},
      {R"({"rank_pattern": [1]})", "\"rank_pattern\" must be an object"},
      {R"({"use_dora": true})", "lacks the tensor"},
      {R"({"target_modules": ".*(q_proj"})",
       R"(adapter_config.json: key "target_modules" holds ".*(q_proj", which is no regular expression)"},
      {R"({"rank_pattern": {"q_[": 4}})",
       R"(adapter_config.json: key "rank_pattern" holds "q_[", which is no)"},
  };
  for (const auto& [patch, message] : cases) {
    const std::string text = message_of_load(Json::parse(patch));
    EXPECT_NE(text.find(message), std::string::npos) << patch << ": " << text;
  }
  EXPECT_NE(message_of<UserError>([&] {
              load_adapted(base_dir(), directory_.path() / "none", at::kFloat, at::kCPU);
            }).find("no such adapter directory"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
