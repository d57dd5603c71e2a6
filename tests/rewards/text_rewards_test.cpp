// The verifiers of text: right, wrong, malformed and hostile completions, and what recipes may not ask.
#include <gtest/gtest.h>

#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

std::string score(const RewardConfig& config, const std::string& text, Json fields = Json::object()) {
  return brief(make_reward(config)->score(make_prompt(std::move(fields)), make_completion(text)));
}

std::string score_tokens(const RewardConfig& config, std::vector<int32_t> ids, Json fields = Json::object()) {
  Completion completion = make_completion("");
  completion.token_ids = std::move(ids);
  return brief(make_reward(config)->score(make_prompt(std::move(fields)), completion));
}

std::vector<int32_t> tokens(int64_t count) { return std::vector<int32_t>(count, 7); }

void expect_refused(const RewardConfig& config, const char* part) {
  const std::string message = message_of<ConfigError>([&] { make_reward(config); });
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(FormatReward, TagsAreTheRecipes) {
  const RewardConfig config{.name = "format", .keys = {{"tags", std::vector<std::string>{"plan", "code"}}}};
  EXPECT_EQ(score(config, "<plan>x</plan>\n<code>y</code>\n"), "1 ok");
  EXPECT_EQ(score(config, "<think>x</think><answer>y</answer>"), "0 ok");
  EXPECT_EQ(score(config, "<code>y</code><plan>x</plan>"), "0 ok");
  expect_refused({.name = "format", .keys = {{"tags", "a b"}}}, "\"a b\"");
  expect_refused({.name = "format", .keys = {{"tags", std::vector<std::string>{"a", "a"}}}}, "twice");
}

TEST(TagCountReward, CountsTagsThatStandThereOnce) {
  const RewardConfig config{.name = "tag_count"};
  EXPECT_EQ(score(config, "<think>x</think><answer>y</answer>"), "1 ok");
  EXPECT_EQ(score(config, "<think>x</think>y"), "0.5 ok");
  EXPECT_EQ(score(config, "<think><think>x</think><answer>y</answer>"), "0.75 ok");
  EXPECT_EQ(score(config, ""), "0 ok");
}

TEST(RepetitionReward, IsTrlsPenalty) {
  const RewardConfig config{.name = "repetition", .keys = {{"ngram_size", 2}}};
  // TRL's own examples: get_repetition_penalty_reward(ngram_size=2, max_penalty=-1.0).
  EXPECT_EQ(score_tokens(config, {1, 2, 3, 4}), "0 ok");
  EXPECT_EQ(score_tokens(config, {5, 5, 5, 5, 5}), "-0.75 ok");
  EXPECT_EQ(score_tokens(config, {5}), "0 ok");
  EXPECT_EQ(
      score_tokens({.name = "repetition", .keys = {{"ngram_size", 1}, {"max_penalty", -2.0}}}, {5, 5, 6, 6}),
      "-1 ok");
}

TEST(SoftOverlongReward, FallsOverTheCache) {
  const RewardConfig config{.name = "soft_overlong",
                            .keys = {{"max_completion_length", 20}, {"soft_punish_cache", 4}}};
  EXPECT_EQ(score_tokens(config, tokens(16)), "0 ok");
  EXPECT_EQ(score_tokens(config, tokens(17)), "-0.25 ok");
  EXPECT_EQ(score_tokens(config, tokens(20)), "-1 ok");
  EXPECT_EQ(score_tokens(config, tokens(25)), "-1 ok");
  expect_refused({.name = "soft_overlong", .keys = {{"max_completion_length", 20}}}, "soft_punish_cache");
  expect_refused({.name = "soft_overlong", .keys = {{"max_completion_length", 2}, {"soft_punish_cache", 3}}},
                 "above");
}

TEST(LengthReward, LinearFallsFromShortestToLongest) {
  const RewardConfig config{.name = "length", .keys = {{"min_length", 10}, {"max_length", 30}}};
  EXPECT_EQ(score_tokens(config, tokens(3)), "1 ok");
  EXPECT_EQ(score_tokens(config, tokens(15)), "0.75 ok");
  EXPECT_EQ(score_tokens(config, tokens(40)), "0 ok");
}

TEST(LengthReward, CosineDependsOnCorrectness) {
  const RewardConfig config{
      .name = "length", .keys = {{"schedule", "cosine"}, {"correctness", "string_check"}, {"max_length", 4}}};
  const auto judged = [&](const char* text, int64_t count) {
    Completion completion = make_completion(text);
    completion.token_ids = tokens(count);
    return make_reward(config)->score(make_prompt({{"answer", "yes"}}), completion).score;
  };
  EXPECT_DOUBLE_EQ(judged("yes", 0), 1.0);
  EXPECT_DOUBLE_EQ(judged("yes", 2), 0.75);
  EXPECT_DOUBLE_EQ(judged("yes", 4), 0.5);
  EXPECT_DOUBLE_EQ(judged("yes", 400), 0.5);
  EXPECT_DOUBLE_EQ(judged("no", 0), -1.0);
  EXPECT_DOUBLE_EQ(judged("no", 4), -0.5);
  EXPECT_EQ(score_tokens(config, {1}), "0 unparsed");  // the row has no reference
}

TEST(LengthReward, TargetComesFromTheRow) {
  const RewardConfig config{.name = "length", .keys = {{"schedule", "target"}}};
  EXPECT_EQ(score_tokens(config, tokens(8), {{"target_length", 8}}), "1 ok");
  EXPECT_EQ(score_tokens(config, tokens(6), {{"target_length", 8}}), "0.75 ok");
  EXPECT_EQ(score_tokens(config, tokens(80), {{"target_length", 8}}), "0 ok");
  EXPECT_EQ(score_tokens(config, tokens(8), {{"target_length", 0}}), "0 unparsed");
  EXPECT_EQ(score_tokens(config, tokens(8)), "0 unparsed");
}

TEST(LengthReward, OnlySampledTokensHaveALength) {
  Completion completion;
  for (int i = 0; i < 9; ++i) completion.append(7, TokenOrigin::kSampled);
  for (int i = 0; i < 100; ++i) completion.append(8, TokenOrigin::kInjected);
  for (int i = 0; i < 6; ++i) completion.append(7, TokenOrigin::kSampled, /*turn=*/1);
  const auto judged = [&](const RewardConfig& config, Json fields) {
    return brief(make_reward(config)->score(make_prompt(std::move(fields)), completion));
  };
  EXPECT_EQ(judged({.name = "length", .keys = {{"min_length", 10}, {"max_length", 30}}}, Json::object()),
            "0.75 ok");
  EXPECT_EQ(judged({.name = "length", .keys = {{"schedule", "target"}}}, {{"target_length", 20}}), "0.75 ok");
  EXPECT_EQ(
      judged({.name = "soft_overlong", .keys = {{"max_completion_length", 18}, {"soft_punish_cache", 4}}},
             Json::object()),
      "-0.25 ok");
}

TEST(LengthReward, RefusesKeysOfOtherSchedules) {
  expect_refused({.name = "length"}, "max_length");
  expect_refused({.name = "length", .keys = {{"min_length", 5}, {"max_length", 5}}}, "below");
  expect_refused({.name = "length", .keys = {{"schedule", "target"}, {"max_length", 5}}}, "max_length");
  expect_refused({.name = "length", .keys = {{"correctness", "accuracy"}, {"max_length", 5}}}, "correctness");
  expect_refused({.name = "length", .keys = {{"schedule", "cosine"}, {"min_length", 1}, {"max_length", 5}}},
                 "min_length");
}

TEST(StringCheckReward, ComparesTheStatedAnswer) {
  const Json row{{"answer", "Paris"}};
  EXPECT_EQ(score({.name = "string_check"}, "Paris", row), "1 ok");
  EXPECT_EQ(score({.name = "string_check"}, "<think>London</think> <answer> Paris </answer>.", row), "1 ok");
  EXPECT_EQ(score({.name = "string_check"}, "<think>Paris</think>London", row), "0 ok");
  EXPECT_EQ(score({.name = "string_check"}, "paris", row), "0 ok");
  EXPECT_EQ(score({.name = "string_check", .keys = {{"operation", "ne"}}}, "paris", row), "1 ok");
  EXPECT_EQ(score({.name = "string_check", .keys = {{"operation", "like"}}}, "It is Paris.", row), "1 ok");
  EXPECT_EQ(score({.name = "string_check", .keys = {{"operation", "ilike"}}}, "it is PARIS.", row), "1 ok");
  EXPECT_EQ(score({.name = "string_check", .keys = {{"column", "n"}}}, "\\boxed{42}", {{"n", 42}}), "1 ok");
  EXPECT_EQ(score({.name = "string_check"}, "x"), "0 unparsed");
  EXPECT_EQ(score({.name = "string_check"}, "", {{"answer", " "}}), "0 unparsed");
}

TEST(StringCheckReward, BoxesAreThoseOfMathematics) {
  const auto boxed = [](const char* text, const char* answer) {
    return score({.name = "string_check"}, text, {{"answer", answer}});
  };
  EXPECT_EQ(boxed("so \\fbox{Paris}", "Paris"), "1 ok");
  EXPECT_EQ(boxed("so \\boxed Paris, as wanted", "Paris"), "1 ok");
  EXPECT_EQ(boxed("\\boxed{\\{}", "\\{"), "1 ok");
  EXPECT_EQ(boxed("\\boxed{a\\\\}", "a\\\\"), "1 ok");  // a line break, and the end
  EXPECT_EQ(boxed("\\boxed{London} \\boxed {Paris}", "Paris"), "1 ok");
  // Cut: not even the whole text is its answer.
  EXPECT_EQ(boxed("\\boxed{Paris", "\\boxed{Paris"), "0 ok");
  EXPECT_EQ(score({.name = "choice"}, "The answer is B. \\boxed{\\text{B}", {{"answer", "B"}}), "0 ok");
  EXPECT_EQ(score({.name = "numeric"}, "It is 5. \\boxed{5", {{"answer", 5}}), "0 ok");
}

TEST(RegexReward, MatchesAnywhere) {
  EXPECT_EQ(score({.name = "regex", .keys = {{"pattern", "\\bcat\\b"}}}, "the cat sat"), "1 ok");
  EXPECT_EQ(score({.name = "regex", .keys = {{"pattern", "\\bcat\\b"}}}, "concatenate"), "0 ok");
  EXPECT_EQ(score({.name = "regex", .keys = {{"pattern", "^\\p{Han}+$"}}}, "\u6771\u4eac"), "1 ok");
  expect_refused({.name = "regex"}, "pattern");
  expect_refused({.name = "regex", .keys = {{"pattern", "(a"}}}, "pattern");
}

TEST(RegexReward, ALongSearchIsNoWayOut) {
  std::string text(5000, 'a');
  text.back() = 'b';
  EXPECT_EQ(score({.name = "regex", .keys = {{"pattern", "^(a+)+$"}}}, text), "0 ok");
}

std::string choice(const std::string& text, Json row = {{"answer", "B"}}) {
  return score({.name = "choice"}, text, std::move(row));
}

TEST(ChoiceReward, ReadsManySpellings) {
  for (const char* text : {"B",
                           "b",
                           "(B)",
                           "B.",
                           "B)",
                           "**B**",
                           "$\\text{B}$",
                           "\\boxed{B}",
                           "\\boxed{\\text{(B)}}",
                           "<answer>B</answer>",
                           "<answer>(b) Paris</answer>",
                           "Option B",
                           "The answer is B.",
                           "the correct answer is (B) because A is wrong",
                           "Let me see. A is too big.\nAnswer: B",
                           "I choose B",
                           "So the answer is **B: Paris**",
                           "It is long.\nB",
                           "<think>A? C? the answer is C</think>B",
                           "First I thought the answer is A. The answer is B.",
                           "[B]",
                           "Answer: $B$"}) {
    EXPECT_EQ(choice(text), "1 ok") << text;
  }
}

TEST(ChoiceReward, NamingSeveralOrNoneIsWrong) {
  for (const char* text : {"", "A", "C", "A B C D", "A and B", "B or C", "(A), (B)", "<answer>B, C</answer>",
                           "Both B and D", "Bob", "I do not know", "The answer is Bob", "\\boxed{AB}",
                           "A man walks", "B C", "The answer is B or A"}) {
    EXPECT_EQ(choice(text), "0 ok") << text;
  }
}

TEST(ChoiceReward, KnowsTheTextsOfTheChoices) {
  const Json row{{"answer", "A"}, {"choices", {"dog", "cat"}}};
  EXPECT_EQ(choice("<answer>dog</answer>", row), "1 ok");
  EXPECT_EQ(choice("<answer>A dog</answer>", row), "1 ok");
  EXPECT_EQ(choice("<answer>A cat</answer>", row), "0 ok");
  EXPECT_EQ(choice("<answer>cat</answer>", row), "0 ok");
  EXPECT_EQ(choice("<answer>C</answer>", row), "0 ok");  // there are two choices
  EXPECT_EQ(choice("A", {{"answer", "dog"}, {"choices", {"dog", "cat"}}}), "1 ok");
  EXPECT_EQ(choice("A", {{"answer", "Z"}}), "0 unparsed");
  EXPECT_EQ(choice("A", Json::object()), "0 unparsed");
  expect_refused({.name = "choice", .keys = {{"choices", "ab"}}}, "capital letters");
}

std::string numeric(const std::string& text, const Json& answer) {
  return score({.name = "numeric"}, text, {{"answer", answer}});
}

TEST(NumericReward, ReadsNumbersInTheirSpellings) {
  for (const auto& [text, answer] :
       std::vector<std::pair<const char*, Json>>{{"42", 42},
                                                 {"The total is 1,234.50 dollars.", "1234.5"},
                                                 {"<answer>x = -3/4</answer>", -0.75},
                                                 {"\\boxed{2 1/2}", 2.5},
                                                 {"\\boxed{\u22125}", -5},
                                                 {"6.02e23", "6.02E+23"},
                                                 {"$5", "5 dollars"},
                                                 {"-$5", "-5"},
                                                 {"25%", 25},
                                                 {"25%", 0.25},
                                                 {"0.25", "25%"},
                                                 {"25 percent", "25 %"},
                                                 {"\\boxed{25\\%}", 0.25},
                                                 {"It takes 90 minutes.", "1.5 hours"},
                                                 {"3 km", "3000 m"},
                                                 {"H2O boils at 100", 100},
                                                 {"12 apples", 12},
                                                 {"5 cents", "$0.05"},
                                                 {"first 3, then 4, so 7", 7},
                                                 {"90\u00b0", "90 degrees"},
                                                 {"<think>5</think>6", 6}}) {
    EXPECT_EQ(numeric(text, answer), "1 ok") << text;
  }
}

TEST(NumericReward, NearMissesAreWrong) {
  for (const auto& [text, answer] : std::vector<std::pair<const char*, Json>>{{"0.333", "1/3"},
                                                                              {"-42", 42},
                                                                              {"4 2", 42},
                                                                              {"<answer>5 or 6</answer>", 5},
                                                                              {"\\boxed{1, 2}", 1},
                                                                              {"3 km", "3 kg"},
                                                                              {"3 km", "3 m"},
                                                                              {"", 1},
                                                                              {"none", 1},
                                                                              {"25%", "2500"},
                                                                              {"1e999", 1},
                                                                              {"nan", 1},
                                                                              {"5 euros", "5 dollars"},
                                                                              {"1,23", 123}}) {
    EXPECT_EQ(numeric(text, answer), "0 ok") << text;
  }
  EXPECT_EQ(numeric("5", "five"), "0 unparsed");
  EXPECT_EQ(numeric("5", "5 or 6"), "0 unparsed");
}

TEST(NumericReward, ToleratesWhatTheRecipeAllows) {
  const Json row{{"answer", 100}};
  EXPECT_EQ(score({.name = "numeric", .keys = {{"absolute_tolerance", 0.5}}}, "100.4", row), "1 ok");
  EXPECT_EQ(score({.name = "numeric", .keys = {{"absolute_tolerance", 0.5}}}, "100.6", row), "0 ok");
  EXPECT_EQ(score({.name = "numeric", .keys = {{"relative_tolerance", 0.01}}}, "99", row), "1 ok");
  EXPECT_EQ(score({.name = "numeric", .keys = {{"relative_tolerance", 0.01}}}, "98.9", row), "0 ok");
}

TEST(TextSimilarityReward, MeasuresTheStatedAnswer) {
  const Json row{{"answer", "the cat"}};
  EXPECT_EQ(score({.name = "text_similarity"}, "<answer>The cat!</answer>", row), "1 ok");
  EXPECT_EQ(score({.name = "text_similarity", .keys = {{"metric", "exact"}}}, "the cat ", row), "1 ok");
  EXPECT_EQ(score({.name = "text_similarity", .keys = {{"metric", "exact"}}}, "The cat", row), "0 ok");
  EXPECT_EQ(score({.name = "text_similarity", .keys = {{"metric", "fuzzy_match"}}}, "the cat", row), "1 ok");
  EXPECT_EQ(score({.name = "text_similarity"}, "", {{"answer", ""}}), "0 unparsed");
  EXPECT_EQ(score({.name = "text_similarity"}, std::string(100'000, 'a'), row), "0 ok");
}

std::string language_score(const std::string& prompt, const std::string& text) {
  Prompt asked = make_prompt(Json::object());
  asked.text = prompt;
  return brief(make_reward({.name = "language_consistency"})->score(asked, make_completion(text)));
}

TEST(LanguageConsistencyReward, CountsWordsInThePromptsLanguage) {
  const std::string english = "How many apples are left when he eats two of them?";
  EXPECT_EQ(language_score(english, "<think>He has five apples and eats two, so three are left.</think>3"),
            "1 ok");
  EXPECT_EQ(
      language_score(english,
                     "<think>Er hat f\u00fcnf \u00c4pfel und isst zwei davon, also bleiben drei.</think>3"),
      "0 ok");
  EXPECT_EQ(
      language_score(
          english,
          "There are five apples on the table.\n\u6211\u4eec\u77e5\u9053\u4ed6\u5403\u4e86\u4e24\u4e2a"),
      "0.4375 ok");
  EXPECT_EQ(language_score(english, "$x = y$ 12 + 3"), "0 ok");
  EXPECT_EQ(language_score("1 + 1", "two"), "0 unparsed");
  const std::string chinese = "\u4e00\u5171\u6709\u591a\u5c11\u4e2a\u82f9\u679c\uff1f";
  EXPECT_EQ(language_score(chinese, "\u6211\u4eec\u5148\u7b97 $\\sin x$ \u3002x = 3"), "1 ok");
  EXPECT_EQ(language_score(chinese, "\u308a\u3093\u3054\u306f\u4e94\u500b\u3067\u3059"), "0 ok");
  expect_refused({.name = "language_consistency", .keys = {{"language", "xx"}}}, "\"xx\"");
}

TEST(LanguageConsistencyReward, TellsLanguagesOfOneScriptApart) {
  for (const auto& [text, language] : std::vector<std::pair<const char*, const char*>>{
           {"The children are playing in the garden with their new dog.", "en"},
           {"Die Kinder spielen mit ihrem neuen Hund im Garten.", "de"},
           {"Les enfants jouent dans le jardin avec leur nouveau chien.", "fr"},
           {"Los ni\u00f1os juegan en el jard\u00edn con su nuevo perro.", "es"},
           {"I bambini giocano nel giardino con il loro nuovo cane.", "it"},
           {"As crian\u00e7as brincam no jardim com o seu novo c\u00e3o.", "pt"},
           {"De kinderen spelen in de tuin met hun nieuwe hond.", "nl"},
           {"Barnen leker i tr\u00e4dg\u00e5rden med sin nya hund.", "sv"},
           {"Dzieci bawi\u0105 si\u0119 w ogrodzie ze swoim nowym psem.", "pl"},
           {"\u0414\u0435\u0442\u0438 \u0438\u0433\u0440\u0430\u044e\u0442 \u0432 \u0441\u0430\u0434\u0443 "
            "\u0441\u043e "
            "\u0441\u0432\u043e\u0435\u0439 \u043d\u043e\u0432\u043e\u0439 "
            "\u0441\u043e\u0431\u0430\u043a\u043e\u0439.",
            "ru"}}) {
    RewardConfig config{.name = "language_consistency", .keys = {{"language", language}}};
    EXPECT_EQ(score(config, text), "1 ok") << text;
  }
}

TEST(RewardConfig, RefusesKeysWithoutEffect) {
  expect_refused({.name = "format", .keys = {{"pattern", "x"}}},
                 "`pattern` has no effect on type \"format\"");
  expect_refused({.name = "countdown", .keys = {{"timeout_s", 1.0}}}, "which has no keys");
  expect_refused({.name = "accuracy", .keys = {{"timeout_s", 1.0}}}, "which heeds answer_places");
  expect_refused({.name = "mine", .type = "regx"}, "\"regex\"");
}

}  // namespace
}  // namespace cohort
