#include "libs/common/utf8.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(Utf8, FindsTheFirstIllFormedSequence) {
  EXPECT_EQ(find_invalid_utf8("a\u00E9\u20AC\U0001F600"), std::nullopt);
  for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5", "\xE2\x82"}) {
    EXPECT_EQ(find_invalid_utf8(std::string("ab") + bad), 2u) << testing::PrintToString(bad);
  }
}

TEST(Utf8, CodePointsSurviveBothWays) {
  for (const char32_t c : {0x0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF}) {
    std::string text = "x";
    append_utf8(text, c);
    size_t pos = 1;
    EXPECT_EQ(next_code_point(text, pos), c);
    EXPECT_EQ(pos, text.size());
    EXPECT_EQ(last_code_point(text), c);
  }
}

// The examples of the Unicode standard, section 3.9, "U+FFFD Substitution of Maximal Subparts".
TEST(Utf8, ReplacesMaximalSubparts) {
  const auto lossy = [](std::string bytes) { return take_all_utf8(bytes); };
  const std::string r = "\uFFFD";
  EXPECT_EQ(lossy("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(lossy("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(lossy("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
}

TEST(Utf8, HoldsBackOnlyWhatIsUnfinished) {
  std::string bytes = "a\xF0\x9F\x98";
  EXPECT_EQ(take_certain_utf8(bytes), "a");
  EXPECT_EQ(bytes, "\xF0\x9F\x98");
  bytes += "\x80z\xE2";
  EXPECT_EQ(take_certain_utf8(bytes), "\U0001F600z");
  EXPECT_EQ(take_all_utf8(bytes), "\uFFFD");
  EXPECT_EQ(bytes, "");
}

}  // namespace
}  // namespace cohort
