// Every component of tokenizer.json against Hugging Face's tokenizers:
// tools/make_golden/tokenizer_components.py.
#include <gtest/gtest.h>

#include "cohort/text/incremental_detokenizer.h"
#include "cohort/text/tokenizer.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

TokenizerJson offsets_json(const Encoding& encoding) {
  TokenizerJson out = TokenizerJson::array();
  for (const CodePointSpan& span : encoding.offsets) out.push_back({span.begin, span.end});
  return out;
}

void expect_case(const Tokenizer& tokenizer, const TokenizerJson& record, const std::string& what) {
  const auto text = record["text"].get<std::string>();
  const Encoding encoding = tokenizer.encode_with_offsets(text);
  EXPECT_EQ(encoding.ids, record["ids"].get<Ids>()) << what << testing::PrintToString(text);
  EXPECT_EQ(offsets_json(encoding), record["offsets"]) << what << testing::PrintToString(text);
  EXPECT_EQ(tokenizer.encode(text), encoding.ids) << what << testing::PrintToString(text);
}

void expect_decoding(const Tokenizer& tokenizer, const TokenizerJson& record, const std::string& what) {
  const auto ids = record["ids"].get<Ids>();
  const auto text = record["text"].get<std::string>();
  const DecodeOptions options{.skip_special_tokens = false};
  EXPECT_EQ(tokenizer.decode(ids, options), text) << what << record["ids"];
  IncrementalDetokenizer detokenizer(tokenizer, options);
  std::string joined;
  for (const int32_t id : ids) joined += detokenizer.push(id);
  EXPECT_EQ(joined + detokenizer.finish(), text) << what << record["ids"];
}

TEST(TokenizerComponents, GiveHuggingFacesIdsOffsetsAndTexts) {
  const std::vector<TokenizerJson> records = golden_records("components.jsonl");
  const TokenizerJson& model = records[0]["model"];
  ASSERT_GT(records.size(), 100u);
  for (size_t i = 1; i < records.size(); ++i) {
    TokenizerJson config = records[i]["config"];
    const std::string what = config.dump();
    TokenizerJson full = model;
    full.update(config["model"]);
    config["model"] = full;
    const Tokenizer tokenizer = Tokenizer::from_json(config.dump());
    for (const TokenizerJson& record : records[i]["cases"]) expect_case(tokenizer, record, what);
    for (const TokenizerJson& record : records[i]["decodings"]) expect_decoding(tokenizer, record, what);
  }
}

class TokenizerShape : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerShape, GivesHuggingFacesIdsOffsetsAndTexts) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path("shapes/" + GetParam()));
  for (const TokenizerJson& record : golden_records("shapes/" + GetParam() + "/cases.jsonl")) {
    if (record.contains("offsets")) {
      expect_case(tokenizer, record, "");
    } else {
      expect_decoding(tokenizer, record, "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TokenizerShape,
                         testing::Values("gpt2", "qwen2", "llama3", "o200k", "deepseek", "llama2", "mistral",
                                         "gemma", "unsplit"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cohort
