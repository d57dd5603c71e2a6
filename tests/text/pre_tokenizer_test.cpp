#include "cohort/text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "cohort/text/regex.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

std::vector<std::string> split(const PreTokenizer& pre_tokenizer, const std::string& text) {
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
      EXPECT_EQ(split(pre_tokenizer, record["texts"][i].get<std::string>()),
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

std::vector<TextSpan> find_all(const Regex& regex, const std::string& text) {
  std::vector<TextSpan> spans;
  regex.find_all(text, spans);
  return spans;
}

// Such a pattern takes more stack than PCRE2's compiled code has by default.
TEST(Regex, LongMatchesOfGroupsGetTheirStack) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "ab";
  EXPECT_EQ(find_all(Regex("(?:(?:ab)|(?:ba))*?$"), text).front().end, text.size());
  EXPECT_EQ(find_all(Regex("(?:a|b)*"), text).front().end, text.size());
}

TEST(Regex, GivesUpWithAnError) {
  const Regex exponential("(?:a+)+b");
  EXPECT_NE(error_of([&] { find_all(exponential, std::string(40, 'a') + "cb"); }).find("gave up"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
