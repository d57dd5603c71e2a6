// The reward `choice`: sentences of many languages that name a letter, several, or none.
#include <gtest/gtest.h>

#include "cohort/core/jsonl_reader.h"
#include "cohort/rewards/choice/stated_choice.h"
#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

using choice::Choices;
using choice::find_stated_choice;

std::string score(const std::string& text, Json fields, const std::string& letters = "") {
  const auto reward = make_reward({.name = "choice", .keys = {{"choices", letters}}});
  return brief(reward->score(make_prompt(std::move(fields)), make_completion(text)));
}

// Rows {"text", "names", "choices"?}, written by hand; `names` is null where no letter, or several, are
// named.
TEST(ChoiceSentences, NameWhatAReaderWouldTakeThemToName) {
  const auto rows =
      read_rows(std::string(COHORT_SOURCE_DIR) + "/tests/rewards/golden/choice_sentences.jsonl");
  ASSERT_GT(rows.size(), 500U);
  for (const Json& row : rows) {
    const auto texts = row.value("choices", std::vector<std::string>{});
    const std::string letters = std::string("ABCDEFGHIJ").substr(0, texts.empty() ? 10 : texts.size());
    const auto found = find_stated_choice(row.at("text").get<std::string>(), Choices(letters, texts));
    const std::string named = found ? std::string(1, *found) : "none";
    EXPECT_EQ(named, row.at("names").is_null() ? "none" : row.at("names").get<std::string>()) << row;
  }
}

TEST(ChoiceReward, AFormulaInABoxIsNoChoice) {
  const Json row{{"answer", "C"}};
  EXPECT_EQ(score("So \\boxed{v = \\sqrt{2gh}}.\n\n**Answer: C**", row), "1 ok");
  EXPECT_EQ(score("**Answer: C**, as \\boxed{E = mc^2}", row), "1 ok");
  EXPECT_EQ(score("\\boxed{A \\cup B}\n\nHence the answer is (C).", row), "1 ok");
  EXPECT_EQ(score("\\boxed{42}\nTherefore option C is correct.", row), "1 ok");
  EXPECT_EQ(score("\\boxed{C = 2 \\pi r}", row), "0 ok");
  EXPECT_EQ(score("\\boxed{P(C)}", row), "0 ok");
  EXPECT_EQ(score("\\boxed{A}\n\nThe answer is C.", row), "0 ok");  // the box names a choice
  EXPECT_EQ(score("\\boxed{B \\text{ or } C}\n\nThe answer is C.", row), "0 ok");
  EXPECT_EQ(score("\\boxed{\\textbf{(C) }42}", row), "1 ok");
  EXPECT_EQ(score("<answer>42</answer> The answer is C.", row), "0 ok");
  EXPECT_EQ(score("<answer>The answer is C, since A and B are too small.</answer>", row), "1 ok");
  EXPECT_EQ(score("\\boxed{x^2", row), "0 ok");
}

TEST(ChoiceReward, SeveralBoxesNameNoChoice) {
  for (const char* text :
       {"\\boxed{A} or \\boxed{C}", "$\\boxed{A}$ and $\\boxed{C}$", "\\boxed{A}, \\boxed{C}",
        "\\boxed{B}/\\boxed{C}", "\\boxed{A} or maybe \\boxed{C}"})
    EXPECT_EQ(score(text, {{"answer", "C"}}), "0 ok") << text;
  for (const char* text :
       {"\\boxed{A}. Wait, \\boxed{C}", "not \\boxed{A} but \\boxed{C}", "\\boxed{A}, or rather \\boxed{C}",
        "\\boxed{C}\n\nSo \\boxed{C}", "\\boxed{x + 1}, and \\boxed{C}"})
    EXPECT_EQ(score(text, {{"answer", "C"}}), "1 ok") << text;
}

TEST(ChoiceReward, TheColumnOfChoicesHasManyForms) {
  EXPECT_EQ(score("The answer is Rome.", {{"answer", "B"}, {"choices", {"Paris", "Rome"}}}), "1 ok");
  const Json arc{{"answer", "B"}, {"choices", {{"text", {"Paris", "Rome"}}, {"label", {"A", "B"}}}}};
  EXPECT_EQ(score("The answer is Rome.", arc), "1 ok");
  EXPECT_EQ(score("The answer is Paris.", arc), "0 ok");
  EXPECT_EQ(score("C", arc), "0 ok");
  EXPECT_EQ(score("Rome", {{"answer", "B"}, {"choices", {{"A", "Paris"}, {"B", "Rome"}}}}), "1 ok");
  EXPECT_EQ(score("Rome", {{"answer", "B"}, {"choices", {"Rome", "Rome"}}}), "0 ok");  // one of two
  const Json many = Json::array({"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1", "k1", "l1"});
  EXPECT_EQ(score("The answer is L.", {{"answer", "l1"}, {"choices", many}}), "1 ok");
  EXPECT_EQ(score("The answer is T.", {{"answer", "T"}}, "TF"), "1 ok");
}

// Each of these takes a quadratic reader minutes.
TEST(ChoiceReward, LongHostileTextsNameNoChoice) {
  const Json row{{"answer", "C"}, {"choices", {"Paris", "Rome", "Oslo"}}};
  for (const char* part : {"The answer is B. The answer is A. ", "A x B y ", "the ", "(", "\n", "A, ",
                           "answer is x: ", "\u7B54\u6848\u662F", "\u9009A\u4E0D"}) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += part;
    EXPECT_EQ(score(text, row), "0 ok") << part;
  }
}

}  // namespace
}  // namespace cohort
