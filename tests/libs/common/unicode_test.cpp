#include "libs/common/unicode.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(CodePointSet, MergesAndComplements) {
  const CodePointSet set({{5, 9}, {0, 2}, {3, 3}, {7, 20}});
  ASSERT_EQ(set.ranges().size(), 2u);
  EXPECT_EQ(set.ranges()[0].last, 3u);
  EXPECT_EQ(set.ranges()[1].last, 20u);
  const CodePointSet rest = set.complement();
  for (const char32_t c : {0, 3, 4, 5, 20, 21}) EXPECT_NE(set.contains(c), rest.contains(c)) << uint32_t{c};
  EXPECT_TRUE(rest.contains(kMaxCodePoint));
  EXPECT_TRUE(rest.complement().contains(20));
}

TEST(GeneralCategory, CoversEachCodePointOnce) {
  size_t total = 0;
  for (const char* name : {"L", "M", "N", "P", "S", "Z", "C"}) {
    const CodePointSet set = *general_category(name);
    for (const CodePointRange& range : set.ranges()) total += range.last - range.first + 1;
  }
  EXPECT_EQ(total, kMaxCodePoint + 1);
  EXPECT_FALSE(general_category("Q"));
  EXPECT_FALSE(general_category("Xy"));
  EXPECT_FALSE(general_category(""));
}

// U+10D50 is a letter since Unicode 16, which PCRE2 10.42 does not know.
TEST(GeneralCategory, KnowsYoungLetters) {
  EXPECT_TRUE(general_category("Lu")->contains(0x10D50));
  EXPECT_TRUE(general_category("Nd")->contains(U'7'));
  EXPECT_FALSE(general_category("L")->contains(U'7'));
  EXPECT_FALSE(general_category("N")->contains(0x11DE3));
  EXPECT_TRUE(numeric().contains(0x11DE3));
}

TEST(WordCharacters, HoldMarksConnectorsAndJoiners) {
  for (const char32_t c : {U'a', U'7', U'_', U'\u0301', U'\u2167', U'\u24D0', U'\u200D'})
    EXPECT_TRUE(word_characters().contains(c));
  for (const char32_t c : {U' ', U'-', U'\u00BD', U'\u00B2'}) EXPECT_FALSE(word_characters().contains(c));
}

}  // namespace
}  // namespace cohort
