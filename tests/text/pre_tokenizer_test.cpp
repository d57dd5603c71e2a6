#include "cohort/text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "tests/text/golden.h"

namespace cohort {
namespace {

std::vector<std::string> pieces_of(const PreTokenizer& pre_tokenizer, const std::string& text) {
  AlignedText aligned(text, 0, text.size(), false);
  std::vector<TextSpan> words;
  pre_tokenizer.split(aligned, words);
  std::vector<std::string> out;
  for (const TextSpan& word : words)
    out.emplace_back(aligned.text().substr(word.begin, word.end - word.begin));
  return out;
}

TEST(PreTokenizer, CutsAsHuggingFace) {
  for (const TokenizerJson& record : golden_records("pre_tokenizers.jsonl")) {
    const PreTokenizer pre_tokenizer(record["pre_tokenizer"]);
    for (size_t i = 0; i < record["texts"].size(); ++i) {
      EXPECT_EQ(pieces_of(pre_tokenizer, record["texts"][i].get<std::string>()),
                record["pieces"][i].get<std::vector<std::string>>())
          << record["pre_tokenizer"] << record["texts"][i];
    }
  }
}

TEST(PreTokenizer, AnUnknownBehaviorIsNamed) {
  const TokenizerJson split = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Scattered"}, {"invert", false}};
  EXPECT_NE(error_of([&] { PreTokenizer{split}; }).find("Scattered"), std::string::npos);
}

TEST(PreTokenizer, ASearchThatGivesUpIsAnErrorOfTheUser) {
  const TokenizerJson split = {
      {"type", "Split"}, {"pattern", {{"Regex", "(?:a+)+b"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const PreTokenizer pre_tokenizer(split);
  EXPECT_NE(error_of([&] { pieces_of(pre_tokenizer, std::string(40, 'a') + "cb"); }).find("gave up"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
