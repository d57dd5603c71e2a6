#include "cohort/text/incremental_detokenizer.h"

#include <gtest/gtest.h>

#include "libs/common/utf8.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

TEST(IncrementalDetokenizer, JoinsToTheDecodedText) {
  for (const std::string family : {"gpt2", "qwen2", "llama3", "mixed"}) {
    const Tokenizer tokenizer = Tokenizer::from_directory(golden_path(family));
    for (const TokenizerJson& record : golden_records(family + "/decode.jsonl")) {
      for (const bool skip : {true, false}) {
        IncrementalDetokenizer detokenizer(tokenizer, {.skip_special_tokens = skip});
        std::string text;
        for (const TokenizerJson& id : record["ids"]) {
          const std::string more = detokenizer.push(id.get<int32_t>());
          EXPECT_EQ(find_invalid_utf8(more), std::nullopt);
          text += more;
        }
        text += detokenizer.finish();
        const TokenizerJson& expected = skip || !record.contains("full") ? record["text"] : record["full"];
        EXPECT_EQ(text, expected.get<std::string>());
      }
    }
  }
}

TEST(IncrementalDetokenizer, HoldsBackHalfACharacter) {
  const Tokenizer tokenizer = Tokenizer::from_directory(golden_path("gpt2"));
  // U+1F980 is not in the corpus that the vocabulary was trained on, so that its bytes take several tokens.
  const std::vector<int32_t> ids = tokenizer.encode("\U0001F980");
  ASSERT_GT(ids.size(), 1u);
  IncrementalDetokenizer detokenizer(tokenizer);
  for (size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(detokenizer.push(ids[i]), "");
  EXPECT_EQ(detokenizer.push(ids.back()), "\U0001F980");
  EXPECT_EQ(detokenizer.push(ids.front()), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.finish(), "");
}

}  // namespace
}  // namespace cohort
