#include "cohort/text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/test_files.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string> kFamilies = {"gpt2", "qwen2", "llama3", "mixed"};

class GoldenTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTokenizer, EncodesAsHuggingFace) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path(GetParam()));
  for (const TokenizerJson& record : golden_records("encode.jsonl")) {
    const auto text = record["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), record[GetParam()].get<Ids>()) << testing::PrintToString(text);
  }
}

TEST_P(GoldenTokenizer, DecodesAsHuggingFace) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path(GetParam()));
  for (const TokenizerJson& record : golden_records(GetParam() + "/decode.jsonl")) {
    const auto ids = record["ids"].get<Ids>();
    const auto text = record["text"].get<std::string>();
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_EQ(tokenizer.decode(ids, {.skip_special_tokens = false}), record.value("full", text));
  }
}

TEST_P(GoldenTokenizer, SpellingsAndIdsAgree) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path(GetParam()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    ASSERT_TRUE(tokenizer.token(id).has_value());
    EXPECT_EQ(tokenizer.token_id(*tokenizer.token(id)), id);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTokenizer, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param; });

// Directories written here, each with one tokenizer.json derived from a golden one.
class TokenizerFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }
  Tokenizer load(const TokenizerJson& config) {
    write("tokenizer.json", config.dump());
    return Tokenizer::from_directory(directory_);
  }
  std::string load_error(const TokenizerJson& config) {
    return error_of([&] { load(config); });
  }

  TemporaryDirectory folder_;
  const std::filesystem::path directory_ = folder_.path();
};

TEST_F(TokenizerFiles, SpecialTokensAroundTheTextAreAnOption) {
  const Tokenizer llama3 = Tokenizer::from_directory(golden_path("llama3"));
  const int32_t bos = *llama3.token_id("<|begin_of_text|>");
  Ids with = llama3.encode("Hi");
  EXPECT_EQ(with.front(), bos);
  with.erase(with.begin());
  EXPECT_EQ(llama3.encode("Hi", {.add_special_tokens = false}), with);
  EXPECT_EQ(llama3.encode("<|begin_of_text|>", {.add_special_tokens = false}), Ids{bos});
}

TEST_F(TokenizerFiles, NamesTheByteOfInvalidUtf8) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path("gpt2"));
  EXPECT_NE(error_of([&] { tokenizer.encode("ab\xE4\xB8"); }).find("byte 2"), std::string::npos);
}

TEST_F(TokenizerFiles, IdsWithoutATokenDecodeToNothing) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path("gpt2"));
  const Ids ids = {-1, *tokenizer.token_id("a"), static_cast<int32_t>(tokenizer.vocab_size()), 1 << 30};
  EXPECT_EQ(tokenizer.decode(ids), "a");
  EXPECT_EQ(tokenizer.token(-1), std::nullopt);
}

TEST_F(TokenizerFiles, MissingAndMalformedFilesAreNamed) {
  EXPECT_NE(error_of([&] { Tokenizer::from_directory(directory_); }).find("tokenizer.json"),
            std::string::npos);
  write("tokenizer.json", "{\"a\": }");
  EXPECT_NE(error_of([&] { Tokenizer::from_directory(directory_); }).find("malformed JSON at byte 7"),
            std::string::npos);
  write("tokenizer.json", "[]");
  EXPECT_NE(error_of([&] { Tokenizer::from_directory(directory_); }).find("object"), std::string::npos);
}

TEST_F(TokenizerFiles, UnsupportedComponentsAreNamed) {
  const TokenizerJson good = golden_tokenizer_json("qwen2");
  const std::vector<std::pair<std::string, TokenizerJson>> replacements = {
      {"normalizer", {{"type", "Precompiled"}}}, {"pre_tokenizer", {{"type", "UnicodeScripts"}}},
      {"model", {{"type", "Unigram"}}},          {"model", {{"type", "WordPiece"}}},
      {"model", {{"type", "WordLevel"}}},        {"decoder", {{"type", "CTC"}}},
      {"post_processor", {{"type", "Reverse"}}},
  };
  for (const auto& [component, replacement] : replacements) {
    TokenizerJson config = good;
    config[component] = replacement;
    const std::string error = load_error(config);
    EXPECT_NE(error.find("tokenizer.json: " + component), std::string::npos) << error;
    if (replacement.is_object()) {
      EXPECT_NE(error.find(replacement["type"].get<std::string>()), std::string::npos) << error;
    }
  }
  TokenizerJson config = good;
  config["model"]["dropout"] = 0.1;
  EXPECT_NE(load_error(config).find("dropout"), std::string::npos);
}

TEST_F(TokenizerFiles, InconsistentFilesAreRefused) {
  const TokenizerJson good = golden_tokenizer_json("qwen2");
  const auto error_after = [&](const auto& edit) {
    TokenizerJson config = good;
    edit(config);
    return load_error(config);
  };
  EXPECT_EQ(error_after([](auto&) {}), "nothing thrown");
  EXPECT_NE(error_after([](auto& c) { c["model"]["merges"].push_back({"zq", "x"}); }).find("zq"),
            std::string::npos);
  EXPECT_NE(error_after([](auto& c) { c["model"]["merges"].push_back("one"); }).find("not a pair"),
            std::string::npos);
  EXPECT_NE(
      error_after([](auto& c) { c["model"]["vocab"]["a"] = c["model"]["vocab"]["b"]; }).find("two tokens"),
      std::string::npos);
  EXPECT_NE(error_after([](auto& c) { c["model"]["vocab"]["a"] = -3; }).find("\"a\" must be a token id"),
            std::string::npos);
  EXPECT_NE(error_after([](auto& c) { c["added_tokens"][1]["id"] = 5000; }).find("<|im_start|>"),
            std::string::npos);
  EXPECT_NE(error_after([](auto& c) { c["added_tokens"][0].erase("special"); }).find("\"special\""),
            std::string::npos);
  EXPECT_NE(error_after([](auto& c) { c["added_tokens"].push_back(c["added_tokens"][0]); }).find("twice"),
            std::string::npos);
}

TEST_F(TokenizerFiles, TokenizerConfigGivesTheEndOfText) {
  const TokenizerJson config = golden_tokenizer_json("qwen2");
  EXPECT_EQ(load(config).eos_token_id(), std::nullopt);
  write("tokenizer_config.json", R"({"eos_token": "<|im_end|>", "add_bos_token": false})");
  const Tokenizer tokenizer = load(config);
  EXPECT_EQ(tokenizer.eos_token_id(), tokenizer.token_id("<|im_end|>"));
  EXPECT_TRUE(tokenizer.is_special(*tokenizer.eos_token_id()));
  write("tokenizer_config.json", R"({"eos_token": {"content": "<|endoftext|>"}})");
  EXPECT_EQ(load(config).eos_token_id(), tokenizer.token_id("<|endoftext|>"));
}

TEST_F(TokenizerFiles, TokenizerConfigMustAgree) {
  const TokenizerJson config = golden_tokenizer_json("qwen2");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"eos_token": "</s>"})", "</s>"},
      {R"({"added_tokens_decoder": {"3": {"content": "<|im_end|>"}}})", "<|im_end|>"},
  };
  for (const auto& [text, message] : cases) {
    write("tokenizer_config.json", text);
    const std::string error = load_error(config);
    EXPECT_NE(error.find("tokenizer_config.json: "), std::string::npos) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
  }
}

TEST_F(TokenizerFiles, TokenizerConfigOverridesAddedTokens) {
  const TokenizerJson config = golden_tokenizer_json("qwen2");
  const Tokenizer plain = load(config);
  const int32_t think = *plain.token_id("<think>");
  EXPECT_FALSE(plain.is_special(think));
  const std::string next = std::to_string(plain.vocab_size());
  write("tokenizer_config.json",
        R"({"add_bos_token": true, "bos_token": "in", "added_tokens_decoder": {")" + std::to_string(think) +
            R"(": {"content": "<think>", "lstrip": true, "normalized": false, "special": true}, ")" + next +
            R"(": {"content": "<new>"}}})");
  const Tokenizer tokenizer = load(config);
  EXPECT_TRUE(tokenizer.is_special(think));
  EXPECT_EQ(tokenizer.encode("  <think>"), Ids{think});
  EXPECT_EQ(tokenizer.encode("<new>"), Ids{static_cast<int32_t>(plain.vocab_size())});
  // A named token of the vocabulary becomes an added one; add_bos_token has no effect beside a
  // tokenizer.json.
  EXPECT_TRUE(tokenizer.is_special(*plain.token_id("in")));
  EXPECT_EQ(tokenizer.encode("in"), Ids{*plain.token_id("in")});
}

TEST_F(TokenizerFiles, LlamaClassPutsItsOwnSpaces) {
  TokenizerJson config = golden_tokenizer_json("shapes/llama2");
  for (TokenizerJson& token : config["added_tokens"]) token["normalized"] = false;
  const Ids ids = load(config).encode("a<s>a", {.add_special_tokens = false});
  const auto middle = static_cast<ptrdiff_t>(ids.size() / 2);
  EXPECT_EQ(Ids(ids.begin(), ids.begin() + middle), Ids(ids.begin() + middle + 1, ids.end()));
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "legacy": false})");
  const Ids first = load(config).encode("a<s>a", {.add_special_tokens = false});
  EXPECT_EQ(first.front(), ids.front());
  EXPECT_LT(first.size(), ids.size());
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "legacy": true})");
  EXPECT_EQ(load(config).encode("a<s>a", {.add_special_tokens = false}), ids);
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "legacy": false})");
  write("config.json", R"({"model_type": "mistral"})");
  EXPECT_EQ(load(config).encode("a<s>a", {.add_special_tokens = false}), ids);
}

// A quadratic step anywhere would take minutes here, and ctest's time-out would end it.
TEST_F(TokenizerFiles, LongHostileTextsAreFeasible) {
  for (const std::string& family : kFamilies) {
    const Tokenizer tokenizer = Tokenizer::from_directory(golden_path(family));
    for (const std::string unit : {"a", "<|im_", " ", "\n", "e\u0301\u0323", "\u6570"}) {
      std::string text;
      while (text.size() < 100'000) text += unit;
      const Ids ids = tokenizer.encode(text);
      EXPECT_GT(ids.size(), 300u);
      // NFC changes the one, and "mixed" knows not all bytes and puts spaces before words.
      if (unit != "e\u0301\u0323" && family != "mixed") {
        EXPECT_EQ(tokenizer.decode(ids), text) << family;
      }
    }
  }
}

TEST(DemoTokenizer, SpecialTokensAreTakenOutOfTexts) {
  const Tokenizer tokenizer = Tokenizer::from_directory(COHORT_SOURCE_DIR "/recipes/demo");
  const std::string end = "<|endoftext|>", broken = "\uFFFD|endoftext|>";
  EXPECT_EQ(tokenizer.without_special_tokens("a" + end + end + " <think>" + end),
            "a" + broken + broken + " <think>" + broken);
  EXPECT_EQ(tokenizer.without_special_tokens("<<|endoftext|"), "<<|endoftext|");
  for (const int32_t id : tokenizer.encode(tokenizer.without_special_tokens(end)))
    EXPECT_FALSE(tokenizer.is_special(id));
}

TEST(DemoTokenizer, KeepsDigitsApartAndTheTagsWhole) {
  const Tokenizer tokenizer =
      Tokenizer::from_directory(std::filesystem::path(COHORT_SOURCE_DIR) / "recipes/demo");
  EXPECT_EQ(tokenizer.eos_token_id(), 0);
  const std::string text = "<think>25 - 8 = 17\n17 + 7 = 24</think>\n<answer>25 - 8 + 7</answer>";
  const Ids ids = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(ids.front(), tokenizer.token_id("<think>"));
  EXPECT_EQ(ids.back(), tokenizer.token_id("</answer>"));
  EXPECT_LE(ids.size(), 28u);
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.decode(Ids{id}, {.skip_special_tokens = false});
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool is_one_digit = bytes.size() == 1 || (bytes.size() == 2 && bytes[0] == ' ');
    EXPECT_TRUE(is_one_digit || std::none_of(bytes.begin(), bytes.end(), is_digit)) << bytes;
  }
}

}  // namespace
}  // namespace cohort
