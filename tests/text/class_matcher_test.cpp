// The matcher of common patterns against PCRE2, and its work on hostile texts.
#include "cohort/text/class_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "cohort/text/regex_translate.h"
#include "libs/common/utf8.h"
#include "libs/regex/regex.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

const std::vector<std::string> kPatterns = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"(\s+$)",
    R"(\s?[A-Za-z]+)",
    R"(\p{N}{2,3}|[a-c]{2,}|b)",
    R"([ab]+(?:bc|c)?d|a++b|(?i:sK)+|x)",
    R"((?:a|ab)c|(?:a|ab)(?:c|bcd)?e|[ab]*b|\s(?=a))",
    R"(a*b*c|[abc]+\z|[^a]d?)",
};

std::vector<TextSpan> by_matcher(const ClassMatcher& matcher, const std::string& text) {
  std::vector<TextSpan> spans;
  matcher.find_all(text, spans);
  return spans;
}

std::string show(const std::vector<TextSpan>& spans) {
  std::string out;
  for (const TextSpan& span : spans) {
    out += std::to_string(span.begin) + (span.is_match ? "=" : "-") + std::to_string(span.end) + " ";
  }
  return out;
}

TEST(ClassMatcher, FindsWhatPcre2Finds) {
  const std::u32string alphabet =
      U"abcdeABsSkK'' \u017f\u212a \n\r\t139x/.-\u00e9\u0301\u01c5\u02b0\u6570\u00bd\u3000\U0001f600";
  std::mt19937 random(5);
  for (const std::string& pattern : kPatterns) {
    const std::string translated = translate_pattern(pattern);
    const auto matcher = ClassMatcher::compile(translated);
    if (pattern.find(")+") != std::string::npos) {
      EXPECT_EQ(matcher, nullptr) << pattern;  // a group that repeats
      continue;
    }
    ASSERT_NE(matcher, nullptr) << pattern;
    const Regex regex(translated);
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (size_t n = random() % 14; n > 0; --n) append_utf8(text, alphabet[random() % alphabet.size()]);
      std::vector<TextSpan> expected;
      regex.find_all(text, expected);
      ASSERT_EQ(show(by_matcher(*matcher, text)), show(expected)) << pattern << "\n"
                                                                  << testing::PrintToString(text);
    }
  }
}

TEST(ClassMatcher, LeavesOtherPatternsToPcre2) {
  for (const char* pattern : {"", "a*", "a|", "(?:a|b?)", "a.b", "^a", "(?<=a)b", "(?>ab)", "a+?", "(?:ab)*",
                              "(?!ab)c", "(?:ab){2}", "a{0}"}) {
    EXPECT_EQ(ClassMatcher::compile(translate_pattern(pattern)), nullptr) << pattern;
  }
}

TEST(ClassMatcher, WorkGrowsWithTheTextAndNotItsSquare) {
  constexpr size_t kSize = 1 << 17;
  std::string gap(99, ' ');
  gap += 'x';
  const std::vector<std::string> units = {"a", "A", " ", "\n", " \n", "\u0301", "'", "7", "\u6570", gap};
  for (const std::string& pattern : kPatterns) {
    const auto matcher = ClassMatcher::compile(translate_pattern(pattern));
    if (matcher == nullptr) continue;
    for (const std::string& unit : units) {
      std::string text;
      while (text.size() < kSize) text += unit;
      std::vector<TextSpan> spans;
      const uint64_t half = matcher->find_all(text + "x", spans);
      const uint64_t whole = matcher->find_all(text + text + "x", spans);
      EXPECT_LE(whole, 2 * half + 64) << pattern << testing::PrintToString(unit);
      EXPECT_LE(whole, 64 * kSize) << pattern << testing::PrintToString(unit);
    }
  }
}

TEST(ClassMatcher, GivesUpWithAnError) {
  const auto matcher = ClassMatcher::compile("a?[a]*[ab]*[a]*[ab]*c");
  ASSERT_NE(matcher, nullptr);
  EXPECT_NE(error_of([&] { by_matcher(*matcher, std::string(100'000, 'a')); }).find("gave up"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
