#include "cohort/text/regex_translate.h"

#include <gtest/gtest.h>

#include "tests/text/golden.h"

namespace cohort {
namespace {

// What these mean under Oniguruma, PCRE2 reads otherwise or not at all.
TEST(TranslatePattern, RefusesWhatMightDiffer) {
  for (const char* pattern : {R"(\w)",          R"(\b)",          R"(\h)",
                              R"(\R)",          R"(\K)",          R"(\1)",
                              R"([a&&])",       R"([[:alpha:]])", R"([a&&[:alpha:]])",
                              R"([])",          R"([\p{L}-z])",   R"((?i)a)",
                              R"((?<n>a))",     R"((?#c))",       R"(a{2}?)",
                              R"(a{1,2}+)",     R"(a{,2})",       R"(a**)",
                              R"(\p{Klingon})", R"(\p{L)",        R"(\pL)",
                              R"((?i:ss))",     R"((?i:aFI))",    R"((?i:\u00E9))",
                              R"((?i:\p{Lu}))", R"((?i:[^a]))",   R"((a)",
                              R"(a))",          R"(\)",           R"(\x{110000})",
                              R"(\uD800)",      R"([z-a])",       R"([a)"}) {
    EXPECT_NE(error_of([&] { translate_pattern(pattern); }).find("is not supported"), std::string::npos)
        << pattern;
  }
}

TEST(TranslatePattern, SpellsOutSetsAndEscapes) {
  EXPECT_EQ(translate_pattern(R"(a\v[b\-c]+?|^\u00E9{2,})"), R"(a\x{b}[\x{2d}\x{62}-\x{63}]+?|^\x{e9}{2,})");
  EXPECT_EQ(translate_pattern(R"((?i:'s)(b)(?!\S))").substr(0, 20), R"((?i:\x{27}s)(?:b)(?!)");
  EXPECT_EQ(class_pattern(CodePointSet({{0xD000, 0xE001}})), R"([\x{d000}-\x{d7ff}\x{e000}-\x{e001}])");
  EXPECT_EQ(class_pattern(CodePointSet({{0xD900, 0xDA00}})), "(?!)");
}

TEST(TranslatePattern, UnitesAndIntersectsClasses) {
  EXPECT_EQ(translate_pattern("[^(a|[bc])]"), translate_pattern("[^a-c()|]"));
  EXPECT_EQ(translate_pattern("[a-f&&[^bd]&&[b-z]]"), translate_pattern("[cef]"));
  EXPECT_EQ(translate_pattern(R"([\p{Lo}&&[^\p{Han}]])").find("\\x{4e00}"), std::string::npos);
}

}  // namespace
}  // namespace cohort
