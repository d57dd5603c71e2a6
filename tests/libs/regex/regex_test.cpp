#include "libs/regex/regex.h"

#include <gtest/gtest.h>

#include "tests/core/test_files.h"

namespace cohort {
namespace {

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
  std::string text(40, 'a');
  text += "cb";
  EXPECT_NE(message_of<RegexError>([&] { find_all(exponential, text); }).find("gave up"), std::string::npos);
}

TEST(Regex, NamesAPatternThatDoesNotCompile) {
  const std::string message = message_of<RegexError>([] { Regex("(a"); });
  EXPECT_NE(message.find("regular expression: "), std::string::npos);
}

}  // namespace
}  // namespace cohort
