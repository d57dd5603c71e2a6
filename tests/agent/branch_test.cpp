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
  branch.turns = {{2, 5, {}, 0, 1}, {4, 9, {}, 0, 2}};
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

/// A conversation and its fork after the first turn: the fork has the episode's last turn, so it comes first
/// and the first turn is its own; the other branch has that turn as injected tokens.
TEST(TrainedBranches, EachTurnIsSampledInOneBranch) {
  std::vector<Branch> branches{two_turns(), two_turns()};
  branches[1].turns[1].number = 3;
  Completion& completion = branches[0].completion;
  completion.spans = {{TokenOrigin::kSampled, 0, 0, 0, 5},
                      {TokenOrigin::kInjected, 0, 0, 5, 2},
                      {TokenOrigin::kSampled, 1, 0, 7, 2}};
  completion.sampler_logprobs = {-1, -2, -3, -4, -5, -6, -7};
  const auto trained = trained_branches(branches);
  ASSERT_EQ(trained.size(), 2u);
  EXPECT_EQ(trained[0].branch, &branches[1]);
  EXPECT_EQ(trained[0].num_shared, 0u);
  EXPECT_EQ(trained[1].branch, &branches[0]);
  EXPECT_EQ(trained[1].num_shared, 1u);
  const std::vector<int32_t> shared_prompt{1};
  const Completion sequence = to_sequence(trained[1], shared_prompt).completion;
  EXPECT_EQ(sequence.token_ids, (std::vector<int32_t>{2, 10, 11, 12, 13, 14, 15, 16, 17, 18}));
  EXPECT_EQ(sequence.sampler_logprobs, (std::vector<float>{-6, -7}));
  EXPECT_EQ(sequence.num_sampled_before(8), 0);
  EXPECT_EQ(sequence.num_sampled_before(10), 2);
  branches[1].turns.pop_back();  // a fork that has drawn nothing of its own
  EXPECT_EQ(trained_branches(branches).size(), 1u);
}

/// Two turns of two and one sampled tokens, with one of the agent's between them.
Completion two_sampled_turns() {
  Completion completion;
  for (const int32_t id : {5, 6}) completion.append(id, TokenOrigin::kSampled, 0, 3);
  completion.append(7, TokenOrigin::kInjected, 0, 3);
  completion.append(8, TokenOrigin::kSampled, 1, 3);
  completion.sampler_logprobs = {-1.0f, -2.0f, -3.0f};
  return completion;
}

TEST(WithOpening, InjectsTheTurnsThatAnotherBranchHas) {
  const std::vector<int32_t> opening{9};
  const Completion whole = with_opening(opening, two_sampled_turns(), 2);
  check_completion(whole);
  EXPECT_EQ(whole.token_ids, (std::vector<int32_t>{9, 5, 6, 7, 8}));
  const std::vector<TokenSpan> spans{{TokenOrigin::kInjected, 0, 3, 0, 3},
                                     {TokenOrigin::kInjected, 0, 3, 3, 1},
                                     {TokenOrigin::kSampled, 1, 3, 4, 1}};
  EXPECT_EQ(whole.spans, spans);
  EXPECT_EQ(whole.sampler_logprobs, (std::vector<float>{-3.0f}));
}

TEST(TrainedBranches, TrainsEachTurnOnce) {
  const auto turns_of = [](const std::vector<int64_t>& numbers) {
    Branch branch;
    for (const int64_t number : numbers) branch.turns.push_back({0, 0, {}, 0, number});
    return branch;
  };
  // A fork after turn 1 has the last turn; one after turn 2 has no turn of its own.
  const std::vector<Branch> branches{turns_of({1, 2, 3}), turns_of({4}), turns_of({1, 5}), turns_of({1, 2})};
  const std::vector<TrainedBranch> trained = trained_branches(branches);
  ASSERT_EQ(trained.size(), 3u);
  EXPECT_EQ(trained[0].branch, &branches[2]);
  EXPECT_EQ(trained[0].num_shared, 0u);
  EXPECT_EQ(trained[1].branch, &branches[0]);
  EXPECT_EQ(trained[1].num_shared, 1u);
  EXPECT_EQ(trained[2].branch, &branches[1]);
  EXPECT_EQ(trained[2].num_shared, 0u);
  EXPECT_TRUE(trained_branches({Branch()}).empty());
}

TEST(ToSequence, KeepsAPromptOfItsOwn) {
  Branch branch;
  branch.prompt_ids = {1, 2, 3};
  branch.completion = two_sampled_turns();
  branch.turns = {{0, 2, {}, 0, 1}, {0, 4, {}, 0, 2}};
  const std::vector<int32_t> shared{1, 2}, other{1, 4};
  const Sample behind = to_sequence({&branch, 1}, shared);
  EXPECT_TRUE(behind.prompt_ids.empty());
  EXPECT_EQ(behind.completion.token_ids, (std::vector<int32_t>{3, 5, 6, 7, 8}));
  EXPECT_EQ(behind.loss_length(), 1);
  const Sample alone = to_sequence({&branch}, other);
  EXPECT_EQ(alone.prompt_ids, branch.prompt_ids);
  EXPECT_EQ(alone.completion.token_ids, branch.completion.token_ids);
  EXPECT_EQ(alone.loss_length(), 3);
}

}  // namespace
}  // namespace cohort
