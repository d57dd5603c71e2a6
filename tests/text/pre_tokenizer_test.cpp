#include "cohort/text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "cohort/text/byte_level.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

TEST(PreTokenizer, CutsAsHuggingFace) {
  for (const TokenizerJson& record : golden_records("pre_tokenizers.jsonl")) {
    const PreTokenizer pre_tokenizer(record["pre_tokenizer"]);
    for (size_t i = 0; i < record["texts"].size(); ++i) {
      std::vector<std::string> pieces = pre_tokenizer.split(record["texts"][i].get<std::string>());
      for (std::string& piece : pieces) piece = to_byte_characters(piece);
      EXPECT_EQ(pieces, record["pieces"][i].get<std::vector<std::string>>())
          << record["pre_tokenizer"] << record["texts"][i];
    }
  }
}

TEST(PreTokenizer, ByteLevelMustComeLastAndOnce) {
  const TokenizerJson byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const TokenizerJson digits = {{"type", "Digits"}, {"individual_digits", true}};
  const auto error = [](const TokenizerJson& steps) {
    return error_of([&] { PreTokenizer({{"type", "Sequence"}, {"pretokenizers", steps}}); });
  };
  EXPECT_EQ(error({digits, byte_level}), "nothing thrown");
  EXPECT_NE(error({byte_level, digits}).find("nothing may follow"), std::string::npos);
  EXPECT_NE(error({digits, digits}).find("ByteLevel is missing"), std::string::npos);
}

TEST(PreTokenizer, AnUnknownBehaviorIsNamed) {
  const TokenizerJson split = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Scattered"}, {"invert", false}};
  EXPECT_NE(error_of([&] { PreTokenizer{split}; }).find("Scattered"), std::string::npos);
}

// Such a pattern takes more stack than PCRE2's compiled code has by default.
TEST(Regex, LongMatchesOfGroupsGetTheirStack) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "ab";
  EXPECT_EQ(Regex("(?:(?:ab)|(?:ba))*?$").find_all(text).front().end, text.size());
  EXPECT_EQ(Regex("(?:a|b)*").find_all(text).front().end, text.size());
}

TEST(Regex, GivesUpWithAnError) {
  const Regex exponential("(?:a+)+b");
  EXPECT_NE(error_of([&] { exponential.find_all(std::string(40, 'a') + "cb"); }).find("gave up"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
