// Which earlier turn a request of an agent continues.
#include "cohort/agent/branch.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

Json user(const char* text) { return {{"role", "user"}, {"content", text}}; }
Json assistant(const char* text) { return {{"role", "assistant"}, {"content", text}}; }

Json with_call(Json message, const char* argument, const char* id) {
  message["tool_calls"].push_back(
      {{"id", id}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", {{"x", argument}}}}}});
  return message;
}

GenerationRequest chat(Json messages) {
  GenerationRequest request;
  request.is_chat = true;
  request.messages = std::move(messages);
  return request;
}

/// A conversation of two turns, which end after 5 and 9 tokens.
Branch two_turns() {
  Branch branch;
  branch.prompt_ids = {1, 2};
  branch.messages = {user("a"), with_call(assistant("b"), "1", "id1"), user("c"), assistant("d")};
  branch.turns = {{2, 5, {}, 0}, {4, 9, {}, 0}};
  branch.completion.token_ids = {10, 11, 12, 13, 14, 15, 16, 17, 18};
  return branch;
}

TEST(FindContinuation, GoesOnFromTheLastTurnThatTheMessagesHave) {
  const std::vector<Branch> branches{two_turns()};
  const Json first = with_call(assistant(" b\n"), "1", "another id");  // white space and ids do not matter
  auto found = find_continuation(branches, chat({user("a"), first, user("c"), assistant("d"), user("e")}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->turn, 1u);
  found = find_continuation(branches, chat({user("a"), first, user("other")}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->turn, 0u);
  // A turn with other calls, another text of the user, and the same messages without one that follows.
  EXPECT_FALSE(
      find_continuation(branches, chat({user("a"), with_call(assistant("b"), "2", "id1"), user("c")})));
  EXPECT_FALSE(find_continuation(branches, chat({user("A"), first, user("c")})));
  EXPECT_FALSE(find_continuation(branches, chat({user("a")})));
  GenerationRequest other_tools = chat({user("a"), first, user("c")});
  other_tools.tools = Json::array({1});
  EXPECT_FALSE(find_continuation(branches, other_tools));
}

TEST(FindContinuation, TakesTheBranchWithTheMostMessages) {
  Branch shorter = two_turns();
  shorter.turns.resize(1);
  const std::vector<Branch> branches{shorter, two_turns()};
  const auto found = find_continuation(branches, chat({user("a"), with_call(assistant("b"), "1", "id1"),
                                                       user("c"), assistant("d"), user("e")}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->branch, 1u);
}

TEST(FindContinuation, GoesByTokensForPlainText) {
  Branch branch = two_turns();
  branch.messages = Json::array();
  GenerationRequest request;
  request.prompts = {{1, 2, 10, 11, 12, 13, 14, 99}};
  const auto found = find_continuation({branch}, request);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->turn, 0u);
  request.prompts = {{1, 2, 10, 11, 12, 13, 14}};  // nothing follows
  EXPECT_FALSE(find_continuation({branch}, request));
  request.prompts = {{1, 2, 10, 11, 12, 13, 15, 99}};
  EXPECT_FALSE(find_continuation({branch}, request));
}

TEST(WithOpening, PutsInjectedTokensInFront) {
  Completion completion;
  completion.append(5, TokenOrigin::kSampled, 0, 3);
  completion.append(6, TokenOrigin::kInjected, 0, 3);
  completion.append(7, TokenOrigin::kSampled, 1, 3);
  completion.sampler_logprobs = {-1.0f, -2.0f};
  const std::vector<int32_t> opening{8, 9};
  const Completion whole = with_opening(opening, completion);
  check_completion(whole);
  EXPECT_EQ(whole.token_ids, (std::vector<int32_t>{8, 9, 5, 6, 7}));
  const std::vector<TokenSpan> spans{{TokenOrigin::kInjected, 0, 3, 0, 2},
                                     {TokenOrigin::kSampled, 1, 3, 2, 1},
                                     {TokenOrigin::kInjected, 1, 3, 3, 1},
                                     {TokenOrigin::kSampled, 2, 3, 4, 1}};
  EXPECT_EQ(whole.spans, spans);
  EXPECT_EQ(whole.sampler_logprobs, completion.sampler_logprobs);
  EXPECT_EQ(with_opening({}, completion).spans, completion.spans);
}

}  // namespace
}  // namespace cohort
