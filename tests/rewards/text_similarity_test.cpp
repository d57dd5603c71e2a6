// Measures of text similarity against the reference libraries (tools/make_golden/text_similarity.py).
#include "cohort/rewards/text_similarity.h"

#include <gtest/gtest.h>

#include "cohort/core/jsonl_reader.h"

namespace cohort {
namespace {

TEST(TextSimilarity, EqualsTheReferenceLibraries) {
  int64_t num_rows = 0;
  for (JsonlReader rows(COHORT_SOURCE_DIR "/tests/rewards/golden/text_similarity.jsonl"); rows.next();
       ++num_rows) {
    const Json row = rows.row();
    const auto text = row["text"].get<std::string>(), reference = row["reference"].get<std::string>();
    EXPECT_NEAR(rouge_l(text, reference), row["rouge_l"].get<double>(), 1e-12) << row;
    EXPECT_NEAR(fuzzy_match(text, reference), row["fuzzy_match"].get<double>(), 1e-12) << row;
    EXPECT_NEAR(sentence_bleu(text, reference), row["bleu"].get<double>(), 1e-12) << row;
    EXPECT_NEAR(chrf(text, reference), row["chrf"].get<double>(), 1e-12) << row;
  }
  EXPECT_GE(num_rows, 150);
}

TEST(TextSimilarity, SubsequencesOfEveryLengthAroundAWordOfBits) {
  for (const int64_t length : {1, 63, 64, 65, 127, 128, 129, 300}) {
    std::vector<uint32_t> a, b;
    for (int64_t i = 0; i < length; ++i) {
      a.push_back(static_cast<uint32_t>(i));
      if (i % 3 != 0) b.push_back(static_cast<uint32_t>(i));
      b.push_back(1000);
    }
    EXPECT_EQ(longest_common_subsequence(a, b), length - (length + 2) / 3) << length;
    EXPECT_EQ(longest_common_subsequence(b, a), length - (length + 2) / 3) << length;
    EXPECT_EQ(longest_common_subsequence(a, a), length);
    EXPECT_EQ(longest_common_subsequence(a, {}), 0);
    EXPECT_EQ(longest_common_subsequence({}, a), 0);
  }
}

}  // namespace
}  // namespace cohort
