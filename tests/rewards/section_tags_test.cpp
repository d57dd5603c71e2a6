// Sections that the prompt has opened: what format, tag_count, accuracy, numeric and choice count as the
// completion's.
#include "cohort/rewards/section_tags.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

Prompt prompt_with(const std::string& text, Json fields = Json::object()) {
  Prompt prompt = make_prompt(std::move(fields));
  prompt.text = text;
  return prompt;
}

std::string brief_of(const RewardConfig& config, const Prompt& prompt, const std::string& completion) {
  return brief(make_reward(config)->score(prompt, make_completion(completion)));
}

constexpr const char* kRest = "3 + 4\n</think>\n<answer>7</answer>";

TEST(SectionTags, FormatCountsTheTagThatThePromptOpens) {
  const RewardConfig format{.name = "format"};
  for (const char* end : {"<think>", "<bot><think>\n", "<|im_start|>assistant\n<think>\n\n"}) {
    EXPECT_EQ(brief_of(format, prompt_with(end), kRest), "1 ok") << end;
    EXPECT_EQ(brief_of(format, prompt_with(end), "3 + 4 <answer>7</answer>"), "0 ok") << end;
    // A completion that opens the section itself is judged as it stands.
    EXPECT_EQ(brief_of(format, prompt_with(end), str("<think>", kRest)), "1 ok") << end;
    EXPECT_EQ(brief_of(format, prompt_with(end), str("<think><think>", kRest)), "0 ok") << end;
    EXPECT_EQ(brief_of(format, prompt_with(end), str("so <think>", kRest)), "0 ok") << end;
  }
  EXPECT_EQ(brief_of(format, prompt_with("What is 3 + 4?"), kRest), "0 ok");
  EXPECT_EQ(brief_of(format, prompt_with("Write <think> first."), kRest), "0 ok");
}

TEST(SectionTags, APromptMayHaveClosedTheFirstSection) {
  const RewardConfig format{.name = "format"};
  const Prompt closed = prompt_with("<|assistant|>\n<think>\n\n</think>\n\n");
  EXPECT_EQ(brief_of(format, closed, "<answer>7</answer>"), "1 ok");
  EXPECT_EQ(brief_of(format, closed, "so <answer>7</answer>"), "0 ok");
  EXPECT_EQ(brief_of(format, prompt_with("a <think></think> <answer>"), "7</answer>"), "1 ok");
  // Instructions that show the whole format open nothing, and neither does a closing tag alone.
  EXPECT_EQ(brief_of(format, prompt_with("as <think></think><answer></answer>"), kRest), "0 ok");
  EXPECT_EQ(brief_of(format, prompt_with("as <think></think><answer></answer>"), str("<think>", kRest)),
            "1 ok");
  EXPECT_EQ(brief_of(format, prompt_with("end with </think>"), "<answer>7</answer>"), "0 ok");
}

TEST(SectionTags, AMessageOfTheAssistantsIsGoneOnWith) {
  const RewardConfig format{.name = "format"};
  const auto begun = [](const char* role, const char* content) {
    const Json messages = {{{"role", "user"}, {"content", "3 + 4?"}}, {{"role", role}, {"content", content}}};
    return prompt_with(content, {{"prompt_messages", messages}});
  };
  EXPECT_EQ(brief_of(format, begun("assistant", "<think>\nFirst, "), kRest), "1 ok");
  EXPECT_EQ(brief_of(format, begun("assistant", "Let me see. <think>\nFirst, "), kRest), "1 ok");
  EXPECT_EQ(brief_of(format, begun("user", "<think>\nFirst, "), kRest), "0 ok");
}

TEST(SectionTags, NamesAreTheRecipes) {
  const RewardConfig format{
      .name = "f", .type = "format", .keys = {{"tags", std::vector<std::string>{"reasoning", "solution"}}}};
  EXPECT_EQ(brief_of(format, prompt_with("<reasoning>\n"), "a</reasoning><solution>b</solution>"), "1 ok");
  EXPECT_EQ(brief_of(format, prompt_with("<think>\n"), "a</reasoning><solution>b</solution>"), "0 ok");
}

TEST(SectionTags, TagCountCountsItToo) {
  const RewardConfig count{.name = "tag_count"};
  EXPECT_EQ(brief_of(count, prompt_with("<think>\n"), kRest), "1 ok");
  EXPECT_EQ(brief_of(count, prompt_with("p"), kRest), "0.75 ok");
  EXPECT_EQ(brief_of(count, prompt_with("<think>\n"), "no tags"), "0.25 ok");
  EXPECT_EQ(brief_of(count, prompt_with("<think>\n"), str("x <think>", kRest)), "0.75 ok");
}

TEST(SectionTags, ThinkingThatThePromptOpenedStatesNoAnswerUntilItIsClosed) {
  const RewardConfig accuracy{.name = "accuracy"};
  const Json gold = {{"answer", "7"}};
  EXPECT_EQ(brief_of(accuracy, prompt_with("p<think>\n", gold), "The answer is 7."), "0 ok");
  EXPECT_EQ(brief_of(accuracy, prompt_with("p<think>\n", gold), "Is it 9?</think>The answer is 7."), "1 ok");
  EXPECT_EQ(brief_of(accuracy, prompt_with("p", gold), "The answer is 7."), "1 ok");
  const Json letter = {{"answer", "B"}};
  for (const auto& [name, row, right, wrong] :
       {std::tuple("numeric", gold, "The answer is 7.", "Is it 9?"),
        std::tuple("choice", letter, "The answer is B.", "Is it C?")}) {
    const RewardConfig reward{.name = name};
    const std::string finished = str(wrong, "</think>", right);
    EXPECT_EQ(brief_of(reward, prompt_with("p<think>\n", row), right), "0 ok") << name;
    EXPECT_EQ(brief_of(reward, prompt_with("p", row), str("<think>", right)), "0 ok") << name;
    EXPECT_EQ(brief_of(reward, prompt_with("p<think>\n", row), finished), "1 ok") << name;
    EXPECT_EQ(brief_of(reward, prompt_with("p<think></think>", row), right), "1 ok") << name;
    EXPECT_EQ(brief_of(reward, prompt_with("p", row), right), "1 ok") << name;
  }
  const RewardConfig choice{.name = "choice"};
  EXPECT_EQ(brief_of(choice, prompt_with("p<think>\n", letter), "So \\boxed{B}"), "1 ok");
  EXPECT_EQ(brief_of(choice, prompt_with("p<think>\n", letter), "By \\boxed{x^2} the answer is B."), "0 ok");
}

}  // namespace
}  // namespace cohort
