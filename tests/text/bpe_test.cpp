#include "cohort/text/bpe.h"

#include <gtest/gtest.h>

#include "cohort/text/byte_level.h"

namespace cohort {
namespace {

// The 256 bytes in order of value as ids 0 to 255, `tokens` behind them.
TokenizerJson model_json(const std::vector<std::string>& tokens, const std::vector<std::string>& merges) {
  TokenizerJson model = {{"type", "BPE"}, {"merges", merges}, {"vocab", TokenizerJson::object()}};
  for (int byte = 0; byte < 256; ++byte) model["vocab"][byte_characters()[byte]] = byte;
  for (const std::string& token : tokens) model["vocab"][token] = model["vocab"].size();
  return model;
}

std::vector<int32_t> encode(const TokenizerJson& model, std::string_view word) {
  const Bpe bpe(model, true);
  Bpe::Work work;
  TokenRun tokens;
  bpe.encode(word, tokens, work);
  return tokens.ids;
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
  const TokenizerJson model = model_json({"bc", "ab", "aa", "abc"}, {"b c", "a b", "a a", "ab c", "a bc"});
  EXPECT_EQ(encode(model, "abc"), (std::vector<int32_t>{259}));  // a + bc, whose rank 4 comes after b + c
  EXPECT_EQ(encode(model, "abd"), (std::vector<int32_t>{257, 'd'}));
  EXPECT_EQ(encode(model, "aaa"), (std::vector<int32_t>{258, 'a'}));
  EXPECT_EQ(encode(model, ""), std::vector<int32_t>{});
}

TEST(Bpe, ALaterMergeOfTheSamePairReplacesTheEarlier) {
  const TokenizerJson model = model_json({"ab", "bc"}, {"a b", "b c", "a b"});
  EXPECT_EQ(encode(model, "abc"), (std::vector<int32_t>{'a', 257}));
}

TEST(Bpe, UnknownBytesBecomeTheUnknownToken) {
  TokenizerJson model = model_json({"<unk>"}, {});
  model["vocab"].erase("x");
  model["unk_token"] = "<unk>";
  EXPECT_EQ(encode(model, "axxb"), (std::vector<int32_t>{'a', 256, 256, 'b'}));
  model["fuse_unk"] = true;
  EXPECT_EQ(encode(model, "axxbx"), (std::vector<int32_t>{'a', 256, 'b', 256}));
}

TEST(Bpe, AWholeWordWinsWhereMergesAreIgnored) {
  TokenizerJson model = model_json({"ab", "\u0120abc"}, {"a b"});
  EXPECT_EQ(encode(model, " abc"), (std::vector<int32_t>{' ', 256, 'c'}));
  model["ignore_merges"] = true;
  EXPECT_EQ(encode(model, " abc"), (std::vector<int32_t>{257}));
  EXPECT_EQ(encode(model, " abcd"), (std::vector<int32_t>{' ', 256, 'c', 'd'}));
}

}  // namespace
}  // namespace cohort
