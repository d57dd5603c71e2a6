// Work on hostile texts, counted rather than timed: twice the text takes about twice the steps.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/text/bpe.h"
#include "cohort/text/word_merger.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

/// Characters, and runs of a as long as powers of two; `twice` lists each run's merge in several ways.
TokenizerJson runs_of_a(bool twice) {
  TokenizerJson vocabulary = {{"a", 0}, {"b", 1}, {"\u2581", 2}, {"<unk>", 3}};
  TokenizerJson merges = TokenizerJson::array();
  std::string run = "a";
  for (int i = 0; i < 6; ++i) {
    merges.push_back({run, run});
    run += run;
    vocabulary[run] = vocabulary.size();
  }
  if (twice) {
    vocabulary["aaa"] = vocabulary.size();
    merges.push_back({"a", "aa"});
    merges.push_back({"aa", "a"});
    merges.push_back({"a", "aaa"});
  }
  return {{"type", "BPE"}, {"unk_token", "<unk>"}, {"vocab", vocabulary}, {"merges", merges}};
}

uint64_t lookups(const Bpe& bpe, const std::string& text) {
  Bpe::Work work;
  TokenRun tokens;
  bpe.encode(text, tokens, work);
  uint64_t length = 0;
  for (const uint32_t part : tokens.lengths) length += part;
  EXPECT_EQ(length, text.size());
  return work.merger.num_lookups();
}

std::string repeated(const std::string& unit, size_t size) {
  std::string text;
  while (text.size() < size) text += unit;
  return text;
}

TEST(BpeWork, GrowsWithTheTextAndNotItsSquare) {
  constexpr size_t kSize = 1 << 19;
  for (const bool twice : {false, true}) {
    for (const bool byte_level : {false, true}) {
      const Bpe bpe(runs_of_a(twice), byte_level);
      for (const std::string unit : {"a", "b", "ab", "\u2581", "\u2581a", "?", "a?", "aab"}) {
        const uint64_t half = lookups(bpe, repeated(unit, kSize));
        const uint64_t whole = lookups(bpe, repeated(unit, 2 * kSize));
        EXPECT_LE(whole, 2 * half + 64) << unit;
        EXPECT_LE(whole, 16 * kSize) << unit;  // eight a character
      }
    }
  }
}

// A text falls apart where no merge reaches across, and equal parts come from the cache: all but the first
// cost nothing.
TEST(BpeWork, EqualWordsAreMergedOnce) {
  const Bpe bpe(runs_of_a(false), false);
  const uint64_t some = lookups(bpe, repeated("\u2581aaab", 1000));
  EXPECT_EQ(lookups(bpe, repeated("\u2581aaab", 100'000)), some);
}

}  // namespace
}  // namespace cohort
