#include "cohort/text/normalizer.h"

#include <gtest/gtest.h>

#include "tests/text/golden.h"

namespace cohort {
namespace {

std::string normalize_nfc(const std::string& text) {
  return Normalizer(TokenizerJson{{"type", "NFC"}}).normalize(text);
}

TEST(NormalizeNfc, EqualsHuggingFace) {
  for (const TokenizerJson& record : golden_records("nfc.jsonl")) {
    const auto text = record["text"].get<std::string>();
    EXPECT_EQ(normalize_nfc(text), record["nfc"].get<std::string>()) << testing::PrintToString(text);
  }
}

TEST(NormalizeNfc, SortsManyMarksInGoodTime) {
  std::string marks = "a";
  for (int i = 0; i < 100'000; ++i) marks += "\u0301\u0323";
  const std::string sorted = normalize_nfc(marks);
  EXPECT_EQ(sorted.substr(0, 5), "\u1EA1\u0323");
  EXPECT_EQ(sorted.substr(sorted.size() - 2), "\u0301");
}

TEST(Normalizer, IsAbsentOrNfcHoweverNested) {
  const std::string decomposed = "e\u0301";
  EXPECT_EQ(Normalizer(nullptr).normalize(decomposed), decomposed);
  EXPECT_EQ(Normalizer(TokenizerJson{{"type", "Sequence"}, {"normalizers", TokenizerJson::array()}})
                .normalize(decomposed),
            decomposed);
  const TokenizerJson inner = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  EXPECT_EQ(Normalizer(TokenizerJson{{"type", "Sequence"}, {"normalizers", {inner}}}).normalize(decomposed),
            "\u00E9");
}

}  // namespace
}  // namespace cohort
