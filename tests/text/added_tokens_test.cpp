#include "cohort/text/added_tokens.h"

#include <gtest/gtest.h>

#include "tests/text/golden.h"

namespace cohort {
namespace {

std::string spell(const AddedTokenMatcher& matcher, const std::string& text) {
  std::string out;
  for (const AddedTokenPiece& piece : matcher.split(text)) {
    const std::string part = text.substr(piece.begin, piece.end - piece.begin);
    out += piece.id ? "<" + std::to_string(*piece.id) + ":" + part + ">" : part;
  }
  return out;
}

TEST(AddedTokenMatcher, TakesTheLongestAtTheLeftmostPlace) {
  const AddedTokenMatcher matcher(
      {{.id = 1, .content = "ab"}, {.id = 2, .content = "abcd"}, {.id = 3, .content = "bcde"}}, false,
      Normalizer(nullptr));
  EXPECT_EQ(spell(matcher, "xabcdeabc"), "x<2:abcd>e<1:ab>c");
  EXPECT_EQ(spell(matcher, ""), "");
}

TEST(AddedTokenMatcher, StripsSpacesAndAsksForWordEdges) {
  const AddedTokenMatcher matcher({{.id = 1, .content = "L", .lstrip = true},
                                   {.id = 2, .content = "R", .rstrip = true},
                                   {.id = 3, .content = "w", .single_word = true}},
                                  false, Normalizer(nullptr));
  EXPECT_EQ(spell(matcher, "a \u3000L b"), "a<1: \u3000L> b");
  EXPECT_EQ(spell(matcher, "R \n L"), "<2:R \n ><1:L>");
  EXPECT_EQ(spell(matcher, "w-wx (w) _w"), "<3:w>-wx (<3:w>) _w");
}

TEST(AddedTokenMatcher, NormalizesTheContentOfNormalizedTokensOnly) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "e\u0301", .normalized = true},
                                          {.id = 2, .content = "o\u0301"}};
  const Normalizer nfc(TokenizerJson{{"type", "NFC"}});
  EXPECT_EQ(spell(AddedTokenMatcher(tokens, true, nfc), "\u00E9o\u0301"), "<1:\u00E9>o\u0301");
  EXPECT_EQ(spell(AddedTokenMatcher(tokens, false, nfc), "\u00E9o\u0301"), "\u00E9<2:o\u0301>");
}

}  // namespace
}  // namespace cohort
