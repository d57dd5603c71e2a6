// The examples of docs/answers.md: what is found in each completion, or why it is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "libs/answers/extraction.h"

namespace cohort::answers {
namespace {

/// As the table has it: `12`, refused: the reason, or nothing.
std::string outcome_of(const std::string& completion) {
  const Finding found = find_answer(completion, default_places());
  if (found.text) return "`" + *found.text + "`";
  return found.refusal.empty() ? "nothing" : "refused: " + found.refusal;
}

std::string with_line_breaks(std::string text) {
  const std::string sign = "⏎";
  for (size_t at = text.find(sign); at != std::string::npos; at = text.find(sign))
    text.replace(at, sign.size(), "\n");
  return text;
}

TEST(DocumentedExamples, AreFoundAsTheTableSays) {
  const std::string kStart = "| `", kMiddle = "` | ", kEnd = " |";
  std::ifstream page(COHORT_SOURCE_DIR "/docs/answers.md");
  bool is_in_table = false;
  int num_rows = 0;
  for (std::string line; std::getline(page, line);) {
    is_in_table = is_in_table || line == "| completion | found |";
    const size_t middle = line.find(kMiddle);
    if (!is_in_table || !line.starts_with(kStart) || middle == std::string::npos) continue;
    const std::string completion = line.substr(kStart.size(), middle - kStart.size());
    const size_t begin = middle + kMiddle.size();
    EXPECT_EQ(outcome_of(with_line_breaks(completion)), line.substr(begin, line.size() - kEnd.size() - begin))
        << completion;
    ++num_rows;
  }
  EXPECT_GE(num_rows, 50);
}

}  // namespace
}  // namespace cohort::answers
