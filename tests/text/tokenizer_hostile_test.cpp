// Malformed tokenizer.json and tokenizer_config.json: one line that names file and key, and no memory beyond
// the file's.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "cohort/core/memory.h"
#include "cohort/text/tokenizer.h"
#include "tests/core/test_files.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

using Edit = std::function<void(TokenizerJson&)>;

struct Malformed {
  const char* name;
  Edit edit;
  const char* message;  ///< a part of the error
};

TokenizerJson good_config() {
  TokenizerJson vocabulary = {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"\u2581", 4}};
  const TokenizerJson added = {
      {"id", 5},         {"content", "<s>"},    {"special", true},     {"lstrip", false},
      {"rstrip", false}, {"normalized", false}, {"single_word", false}};
  return {{"version", "1.0"},
          {"added_tokens", TokenizerJson::array({added})},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", {{"type", "Whitespace"}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"vocab", vocabulary},
            {"merges", TokenizerJson::array({"a b"})}}}};
}

TokenizerJson nested(const char* list_key, int depth) {
  TokenizerJson inner = {{"type", "Sequence"}, {list_key, TokenizerJson::array()}};
  for (int i = 0; i < depth; ++i) inner = {{"type", "Sequence"}, {list_key, TokenizerJson::array({inner})}};
  return inner;
}

TokenizerJson split_with(const char* kind, const char* pattern) {
  return {{"type", "Split"}, {"pattern", {{kind, pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

TokenizerJson template_of(const TokenizerJson& pieces) {
  return {
      {"type", "TemplateProcessing"},
      {"single", pieces},
      {"pair", TokenizerJson::array()},
      {"special_tokens",
       {{"<s>",
         {{"id", "<s>"}, {"ids", TokenizerJson::array({5})}, {"tokens", TokenizerJson::array({"<s>"})}}}}}};
}

const TokenizerJson kText = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
const TokenizerJson kStart = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};

std::vector<Malformed> malformed_models() {
  return {
      {"no model", [](auto& c) { c.erase("model"); }, "model"},
      {"model is a list", [](auto& c) { c["model"] = TokenizerJson::array(); }, "model"},
      {"type is a number", [](auto& c) { c["model"]["type"] = 7; }, "type"},
      {"unigram", [](auto& c) { c["model"]["type"] = "Unigram"; }, "Unigram"},
      {"wordpiece", [](auto& c) { c["model"]["type"] = "WordPiece"; }, "WordPiece"},
      {"wordlevel", [](auto& c) { c["model"]["type"] = "WordLevel"; }, "WordLevel"},
      {"no vocab", [](auto& c) { c["model"].erase("vocab"); }, "vocab"},
      {"vocab is a list", [](auto& c) { c["model"]["vocab"] = TokenizerJson::array({1}); }, "vocab"},
      {"empty vocab", [](auto& c) { c["model"]["vocab"] = TokenizerJson::object(); }, "merge 0 needs \"a\""},
      {"id -1", [](auto& c) { c["model"]["vocab"]["a"] = -1; }, "\"a\" must be a token id"},
      {"id is 1.5", [](auto& c) { c["model"]["vocab"]["a"] = 1.5; }, "\"a\" must be a token id"},
      {"id is a string", [](auto& c) { c["model"]["vocab"]["a"] = "1"; }, "\"a\" must be a token id"},
      {"id is null", [](auto& c) { c["model"]["vocab"]["a"] = nullptr; }, "\"a\" must be a token id"},
      {"id 2^31", [](auto& c) { c["model"]["vocab"]["a"] = 2147483648; }, "\"a\" must be a token id"},
      {"id 2^64 - 1", [](auto& c) { c["model"]["vocab"]["a"] = ~uint64_t{0}; }, "\"a\" must be a token id"},
      {"id far beyond", [](auto& c) { c["model"]["vocab"]["a"] = (1 << 24) - 1; }, "far beyond"},
      {"duplicate ids", [](auto& c) { c["model"]["vocab"]["a"] = 2; }, "two tokens have the id 2"},
      {"no merges", [](auto& c) { c["model"].erase("merges"); }, "merges"},
      {"merges are an object", [](auto& c) { c["model"]["merges"] = {{"a", "b"}}; }, "merges"},
      {"merge of an absent token", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({"a z"}); },
       "needs \"z\""},
      {"merge to an absent token", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({"b a"}); },
       "needs \"ba\""},
      {"merge of one", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({"ab"}); },
       "merge 0 is not a pair"},
      {"merge of three", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({"a b a"}); },
       "merge 0 is not a pair"},
      {"merge with nothing", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({"a "}); },
       "merge 0 is not a pair"},
      {"merge is a number", [](auto& c) { c["model"]["merges"] = TokenizerJson::array({3}); },
       "merge 0 is not a pair"},
      {"merge of numbers",
       [](auto& c) { c["model"]["merges"] = TokenizerJson::array({TokenizerJson::array({1, 2})}); },
       "merge 0 is not a pair"},
      {"merge list of three",
       [](auto& c) { c["model"]["merges"] = TokenizerJson::array({TokenizerJson::array({"a", "b", "a"})}); },
       "merge 0 is not a pair"},
      {"dropout", [](auto& c) { c["model"]["dropout"] = 0.5; }, "dropout"},
      {"dropout is a string", [](auto& c) { c["model"]["dropout"] = "0"; }, "dropout"},
      {"fuse_unk is a string", [](auto& c) { c["model"]["fuse_unk"] = "yes"; }, "fuse_unk"},
      {"unk_token is a number", [](auto& c) { c["model"]["unk_token"] = 0; }, "unk_token"},
      {"prefix is a list",
       [](auto& c) { c["model"]["continuing_subword_prefix"] = TokenizerJson::array({1}); },
       "continuing_subword_prefix"},
      {"prefix is missing", [](auto& c) { c["model"]["continuing_subword_prefix"] = "##"; },
       "lacks the prefix"},
  };
}

std::vector<Malformed> malformed_components() {
  return {
      {"a list", [](auto& c) { c = TokenizerJson::array(); }, "object"},
      {"normalizer is a string", [](auto& c) { c["normalizer"] = "NFC"; }, "normalizer"},
      {"normalizer without type", [](auto& c) { c["normalizer"] = TokenizerJson::object(); }, "type"},
      {"precompiled", [](auto& c) { c["normalizer"] = {{"type", "Precompiled"}}; }, "Precompiled"},
      {"bert normalizer", [](auto& c) { c["normalizer"] = {{"type", "BertNormalizer"}}; }, "BertNormalizer"},
      {"prepend without text", [](auto& c) { c["normalizer"] = {{"type", "Prepend"}}; }, "prepend"},
      {"replace without pattern", [](auto& c) { c["normalizer"] = {{"type", "Replace"}, {"content", ""}}; },
       "pattern"},
      {"strip without sides", [](auto& c) { c["normalizer"] = {{"type", "Strip"}}; }, "strip_left"},
      {"nested normalizers", [](auto& c) { c["normalizer"] = nested("normalizers", 80); }, "deeper than"},
      {"sequence without list", [](auto& c) { c["pre_tokenizer"] = {{"type", "Sequence"}}; },
       "pretokenizers"},
      {"unicode scripts", [](auto& c) { c["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; },
       "UnicodeScripts"},
      {"invalid regex", [](auto& c) { c["pre_tokenizer"] = split_with("Regex", "(a"); }, "(a"},
      {"regex without meaning", [](auto& c) { c["pre_tokenizer"] = split_with("Regex", "[z-a]"); }, "[z-a]"},
      {"regex of a back reference", [](auto& c) { c["pre_tokenizer"] = split_with("Regex", "(a)\\1"); },
       "\\1"},
      {"pattern of no kind", [](auto& c) { c["pre_tokenizer"] = split_with("Glob", "*"); }, "String"},
      {"pattern is a string", [](auto& c) { c["pre_tokenizer"] = {{"type", "Split"}, {"pattern", " "}}; },
       "pattern"},
      {"unknown behavior",
       [](auto& c) {
         c["pre_tokenizer"] = split_with("String", " ");
         c["pre_tokenizer"]["behavior"] = "Torn";
       },
       "Torn"},
      {"metaspace of two",
       [](auto& c) { c["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "__"}}; }, "replacement"},
      {"metaspace of nothing",
       [](auto& c) { c["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", ""}}; }, "replacement"},
      {"unknown scheme",
       [](auto& c) {
         c["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}};
       },
       "last"},
      {"scheme against space",
       [](auto& c) {
         c["pre_tokenizer"] = {{"type", "Metaspace"},
                               {"replacement", "_"},
                               {"prepend_scheme", "first"},
                               {"add_prefix_space", false}};
       },
       "contradicts"},
      {"fixed length 0", [](auto& c) { c["pre_tokenizer"] = {{"type", "FixedLength"}, {"length", 0}}; },
       "length"},
      {"byte level without flags", [](auto& c) { c["pre_tokenizer"] = {{"type", "ByteLevel"}}; },
       "add_prefix_space"},
      {"unknown decoder", [](auto& c) { c["decoder"] = {{"type", "WordPiece"}}; }, "WordPiece"},
      {"strip of many", [](auto& c) { c["decoder"] = {{"type", "Strip"}, {"content", "ab"}}; }, "content"},
      {"strip of 2^40",
       [](auto& c) {
         c["decoder"] = {{"type", "Strip"}, {"content", "a"}, {"start", 1099511627776}, {"stop", 0}};
       },
       "start"},
      {"unknown processor", [](auto& c) { c["post_processor"] = {{"type", "Reverse"}}; }, "Reverse"},
      {"template without text",
       [](auto& c) { c["post_processor"] = template_of(TokenizerJson::array({kStart})); }, "exactly once"},
      {"template with two texts",
       [](auto& c) { c["post_processor"] = template_of(TokenizerJson::array({kText, kText})); },
       "exactly once"},
      {"template is a string", [](auto& c) { c["post_processor"] = template_of("$A"); }, "single"},
      {"template of an unknown token",
       [](auto& c) {
         c["post_processor"] = template_of(TokenizerJson::array({kStart, kText}));
         c["post_processor"]["special_tokens"].erase("<s>");
       },
       "<s>"},
      {"template of an absent id",
       [](auto& c) {
         c["post_processor"] = template_of(TokenizerJson::array({kStart, kText}));
         c["post_processor"]["special_tokens"]["<s>"]["ids"] = TokenizerJson::array({77});
       },
       "77"},
      {"template ids are a number",
       [](auto& c) {
         c["post_processor"] = template_of(TokenizerJson::array({kStart, kText}));
         c["post_processor"]["special_tokens"]["<s>"]["ids"] = 5;
       },
       "ids"},
      {"bert without sep", [](auto& c) { c["post_processor"] = {{"type", "BertProcessing"}}; }, "cls"},
      {"added tokens are an object", [](auto& c) { c["added_tokens"] = {{"a", 1}}; }, "added_tokens"},
      {"added token is a string", [](auto& c) { c["added_tokens"] = TokenizerJson::array({"<s>"}); },
       "added_tokens"},
      {"added token without id", [](auto& c) { c["added_tokens"][0].erase("id"); }, "\"id\""},
      {"added token with id -1", [](auto& c) { c["added_tokens"][0]["id"] = -1; }, "\"id\""},
      {"added token in a hole", [](auto& c) { c["added_tokens"][0]["id"] = 9; }, "<s>"},
      {"added token on another", [](auto& c) { c["added_tokens"][0]["id"] = 1; }, "<s>"},
      {"added token twice", [](auto& c) { c["added_tokens"].push_back(c["added_tokens"][0]); }, "twice"},
      {"added token of nothing", [](auto& c) { c["added_tokens"][0]["content"] = ""; }, "content"},
      {"added token of a megabyte",
       [](auto& c) { c["added_tokens"][0]["content"] = std::string(1 << 20, 'x'); }, "longer than 1024"},
      {"prepend of a megabyte",
       [](auto& c) { c["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(1 << 20, 'x')}}; },
       "prepend"},
      {"flag is a number", [](auto& c) { c["added_tokens"][0]["lstrip"] = 1; }, "lstrip"},
  };
}

class HostileTokenizerFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }
  std::string error() {
    return error_of([&] { Tokenizer::from_directory(directory_); });
  }
  void expect_named(const std::string& name, const char* message, const char* file) {
    const std::string text = error();
    EXPECT_NE(text.find((directory_ / file).string()), std::string::npos) << name << ": " << text;
    EXPECT_NE(text.find(message), std::string::npos) << name << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << name << ": " << text;
    EXPECT_LT(text.size(), 600u) << name;
  }

  TemporaryDirectory folder_;
  const std::filesystem::path directory_ = folder_.path();
};

TEST_F(HostileTokenizerFiles, AreRefusedByNameWithoutMuchMemory) {
  write("tokenizer.json", good_config().dump());
  ASSERT_EQ(error(), "nothing thrown");
  const int64_t before = peak_memory_bytes();
  for (const auto& cases : {malformed_models(), malformed_components()}) {
    for (const Malformed& one : cases) {
      TokenizerJson config = good_config();
      one.edit(config);
      write("tokenizer.json", config.dump());
      expect_named(one.name, one.message, "tokenizer.json");
    }
  }
  EXPECT_LT(peak_memory_bytes() - before, int64_t{64} << 20);
}

TEST_F(HostileTokenizerFiles, MakeNoTextGrowWithoutBound) {
  TokenizerJson config = good_config();
  const TokenizerJson doubling = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const TokenizerJson steps(30, doubling);
  config["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  write("tokenizer.json", config.dump());
  const int64_t before = peak_memory_bytes();
  EXPECT_NE(error_of([&] {
              Tokenizer::from_directory(directory_).encode(std::string(10'000, 'a'));
            }).find("normalizer"),
            std::string::npos);
  config["normalizer"] = nullptr;
  config["decoder"] = {{"type", "Sequence"}, {"decoders", steps}};
  write("tokenizer.json", config.dump());
  const std::vector<int32_t> ids(10'000, 1);
  EXPECT_NE(error_of([&] { Tokenizer::from_directory(directory_).decode(ids); }).find("decoder"),
            std::string::npos);
  EXPECT_LT(peak_memory_bytes() - before, int64_t{64} << 20);
}

TEST_F(HostileTokenizerFiles, AreRefusedAsText) {
  const std::string good = good_config().dump();
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "malformed JSON at byte"},
      {"null", "object"},
      {"\xEF\xBB\xBF" + good, "byte order mark"},
      {good.substr(0, good.size() / 2), "malformed JSON at byte"},
      {good + "}", "malformed JSON at byte"},
      {R"({"model": "\ud800"})", "malformed JSON at byte"},
      {"{\"model\": \"\xFF\xFE\"}", "malformed JSON at byte"},
      {"{\"model\": NaN}", "malformed JSON at byte"},
      {std::string(100'000, '['), "deeper than"},
      {std::string("{\"a\":") + std::string(1000, '[') + std::string(1000, ']') + "}", "deeper than"},
      {std::string("\0\0\0\0", 4), "malformed JSON at byte"},
      {R"({"model": 1e999})", ""},
  };
  for (const auto& [text, message] : cases) {
    write("tokenizer.json", text);
    expect_named(text.substr(0, 20), message, "tokenizer.json");
  }
}

TEST_F(HostileTokenizerFiles, ConfigsAreRefusedByName) {
  write("tokenizer.json", good_config().dump());
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[]", "object"},
      {"{", "malformed JSON"},
      {R"({"eos_token": 7})", "eos_token"},
      {R"({"eos_token": "</s>"})", "</s>"},
      {R"({"eos_token": {"content": 7}})", "content"},
      {R"({"added_tokens_decoder": []})", "added_tokens_decoder"},
      {R"({"added_tokens_decoder": {"x": {"content": "<s>"}}})", "\"x\""},
      {R"({"added_tokens_decoder": {"99999999999999999999": {"content": "<s>"}}})", "is no token id"},
      {R"({"added_tokens_decoder": {"5": "<s>"}})", "added_tokens_decoder"},
      {R"({"added_tokens_decoder": {"4": {"content": "<s>"}}})", "is not token 4"},
      {R"({"added_tokens_decoder": {"5": {"content": "<s>", "lstrip": "no"}}})", "lstrip"},
      {R"({"added_tokens_decoder": {"6": {"content": ""}}})", "content"},
      {R"({"extra_special_tokens": 3})", "extra_special_tokens"},
      {R"({"split_special_tokens": true})", "split_special_tokens"},
  };
  for (const auto& [text, message] : cases) {
    write("tokenizer_config.json", text);
    expect_named(text, message, "tokenizer_config.json");
  }
}

TEST_F(HostileTokenizerFiles, FoldersAndPipesInPlaceOfFilesAreRefused) {
  std::filesystem::create_directory(directory_ / "tokenizer.json");
  expect_named("folder", "is a folder", "tokenizer.json");
  std::filesystem::remove(directory_ / "tokenizer.json");
  std::filesystem::create_symlink("tokenizer.json", directory_ / "tokenizer.json");
  expect_named("loop", "can't be read", "tokenizer.json");
  std::filesystem::remove(directory_ / "tokenizer.json");
  ASSERT_EQ(mkfifo((directory_ / "tokenizer.json").c_str(), 0600), 0);
  expect_named("pipe", "is a FIFO", "tokenizer.json");
}

}  // namespace
}  // namespace cohort
