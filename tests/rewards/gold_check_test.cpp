// Solutions that must pass, empty completions that must not, and what explanations say.
#include "cohort/rewards/gold_check.h"

#include <gtest/gtest.h>

#include <mutex>
#include <sstream>

#include "cohort/rewards/explanation.h"
#include "cohort/tasks/task.h"
#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

struct Checked {
  std::string faults, report;
  bool has_failed;
};

Checked check(const std::vector<Json>& rows, const std::vector<RewardConfig>& rewards,
              const std::string& name = "", const std::string& column = "") {
  std::ostringstream faults;
  GoldCheck check(rewards, name, column, faults);
  for (size_t i = 0; i < rows.size(); ++i)
    check.submit(rows[i], str("rows:", i + 1), static_cast<int64_t>(i + 1), {});
  check.finish();
  std::string report;
  for (const auto& [label, text] : check.report()) report += str(label, ": ", text, "\n");
  return {faults.str(), report, check.has_failed()};
}

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(GoldCheck, SolutionsOfATaskPass) {
  const Checked checked =
      check(make_task_rows({.name = "countdown"}, 1, 400, Split::kTrain), {{.name = "countdown"}});
  EXPECT_FALSE(checked.has_failed);
  EXPECT_EQ(checked.faults, "");
  EXPECT_PART(checked.report, "solutions: 400 scored; 0 rows whose own is not full\n");
  EXPECT_PART(checked.report, "empty completions: 0 rows where nothing scores full\n");
}

TEST(GoldCheck, PlantedDefectsAreListedByLine) {
  const std::vector<Json> rows = {
      {{"answer", "Paris"}, {"solution", "<answer>Paris</answer>"}},
      {{"answer", "Paris"}, {"solution", "<answer>London</answer>"}},
      {{"solution", "<answer>Paris</answer>"}},
      {{"prompt", "nothing else"}},
      {{"answer", 5}, {"completion", {{{"role", "assistant"}, {"content", "5"}}}}},
      {{"answer", "x"}, {"solution", 3}, {"completion", nullptr}},
      {{"answer", "x"}, {"solution", {1, 2}}}};
  const Checked checked = check(rows, {{.name = "string_check"}});
  EXPECT_TRUE(checked.has_failed);
  EXPECT_PART(checked.report, "solutions: 5 scored; 5 rows whose own is not full, in lines 2, 3, 4, 6, 7\n");
  EXPECT_PART(checked.faults, "cohort: rows:2: its solution scores 0 on string_check: ");
  EXPECT_PART(checked.faults, "cohort: rows:3: its solution scores unparsed on string_check: ");
  EXPECT_PART(checked.faults,
              "cohort: rows:4: has no solution in column completion, solution, gold or answer\n");
  EXPECT_PART(checked.faults, "cohort: rows:7: column \"solution\" must be a text");
}

TEST(GoldCheck, EmptyCompletionsMustNotPass) {
  const Checked checked = check({{{"prompt", "a"}}, {{"prompt", "b"}}},
                                {{.name = "regex", .keys = {{"pattern", "^"}}}}, "", "prompt");
  EXPECT_TRUE(checked.has_failed);
  EXPECT_PART(checked.report, "empty completions: 2 rows where nothing scores full, in lines 1, 2\n");
  EXPECT_PART(checked.faults, "cohort: rows:1: an empty completion scores 1 on regex: \n");
}

TEST(GoldCheck, OnlyTheFirstFaultsAreSaid) {
  const Checked checked =
      check(std::vector<Json>(300, {{"answer", "a"}, {"gold", "b"}}), {{.name = "string_check"}});
  EXPECT_EQ(std::count(checked.faults.begin(), checked.faults.end(), '\n'), 20);
  EXPECT_PART(checked.report, "300 rows whose own is not full, in lines 1, 2, ");
  EXPECT_PART(checked.report, " 19, 20, ...\n");
}

TEST(GoldCheck, RewardsOfFormAreLeftOut) {
  const std::vector<Json> rows = {{{"answer", "a"}, {"domain", "text"}},
                                  {{"answer", "b"}, {"domain", "other"}}};
  const std::vector<RewardConfig> rewards = {{.name = "format"},
                                             {.name = "same", .type = "string_check", .domains = {"text"}},
                                             {.name = "half", .type = "string_check", .weight = 0.0}};
  const Checked checked = check(rows, rewards);
  EXPECT_FALSE(checked.has_failed) << checked.faults;
  EXPECT_PART(checked.report, "rewards checked: same\n");
  EXPECT_PART(checked.report, "solutions: 1 scored;");
  EXPECT_PART(checked.report, "other domains: 1 rows that no reward judges\n");
  EXPECT_TRUE(check(rows, rewards, "format").has_failed);
  EXPECT_THROW(check(rows, {{.name = "format"}}), ConfigError);
  EXPECT_THROW(check(rows, rewards, "other"), ConfigError);
  // A gate that fails the solution fails it here as in a run; a clipped score is full at its clip.
  EXPECT_TRUE(check(rows, {{.name = "string_check", .required = "format"}, {.name = "format"}}).has_failed);
  EXPECT_FALSE(check(rows, {{.name = "string_check", .clip_max = 0.5}}).has_failed);
}

/// Scores 1 and keeps the prompts that it was asked about, in no order.
class Notebook : public Reward {
 public:
  Notebook(std::vector<Prompt>& seen, std::mutex& mutex) : seen_(seen), mutex_(mutex) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::lock_guard lock(mutex_);
    if (!completion.text.empty()) seen_.push_back(prompt);
    return {completion.text.empty() ? 0.0 : 1.0, RewardStatus::kOk, ""};
  }

 private:
  std::vector<Prompt>& seen_;
  std::mutex& mutex_;
};

TEST(GoldCheck, PromptsAreThoseOfTraining) {
  std::vector<Prompt> seen;
  std::mutex mutex;
  RewardTypes types = builtin_rewards();
  types.push_back(
      {"notebook", "", {[&](const RewardConfig&) { return std::make_unique<Notebook>(seen, mutex); }}});
  const Json user = {{"role", "user"}, {"content", "hi"}}, reply = {{"role", "assistant"}, {"content", "x"}};
  const Json alone = Json::array({user}), both = Json::array({user, reply}), last = Json::array({reply});
  const auto prompt_for = [&](const Json& row) {
    std::ostringstream faults;
    GoldCheck check({{.name = "notebook"}}, "", "", faults, types);
    seen.clear();
    check.submit(row, "rows:1", 1, {});
    check.finish();
    EXPECT_EQ(faults.str(), "");
    return seen.at(0);
  };
  EXPECT_EQ(prompt_for({{"prompt", "hi"}, {"answer", "x"}}).text, "hi");
  const Prompt prompt = prompt_for({{"prompt", alone}, {"answer", "x"}});
  EXPECT_EQ(prompt.text, "hi");
  EXPECT_EQ(prompt.fields, (Json{{"answer", "x"}, {"prompt_messages", alone}}));
  EXPECT_EQ(prompt_for({{"completion", both}}).fields.at("prompt_messages"), alone);
  EXPECT_EQ(prompt_for({{"completion", last}}).fields.at("prompt_messages"), Json::array());
  EXPECT_EQ(prompt_for({{"prompt", alone}, {"completion", last}}).fields.at("prompt_messages"), alone);
}

// Others may need a server or a model that is not there.
TEST(GoldCheck, OnlyWhatIsCheckedAndWhatThatRequiresIsMade) {
  std::vector<std::string> made;
  RewardTypes types = builtin_rewards();
  types.push_back({"noted", "", {[&](const RewardConfig& config) {
                     made.push_back(config.name);
                     return make_reward({.name = "string_check"});
                   }}});
  const std::vector<RewardConfig> rewards = {
      {.name = "unasked", .type = "noted", .weight = 0.0},
      {.name = "gate", .type = "noted", .weight = 0.0},
      {.name = "asked", .type = "noted", .required = "gate"},
      {.name = "checker", .type = "noted", .weight = 0.0, .checks = "asked"},
      {.name = "far", .type = "noted", .weight = 0.0, .required = "asked"}};
  std::ostringstream faults;
  const auto made_for = [&](const std::string& name) {
    made.clear();
    GoldCheck check(rewards, name, "", faults, types);
    check.submit({{"answer", "a"}}, "rows:1", 1, {});
    check.finish();
    EXPECT_FALSE(check.has_failed()) << faults.str();
    return made;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(made_for(""), (Names{"asked", "gate"}));
  EXPECT_EQ(made_for("far"), (Names{"far", "asked", "gate"}));
  EXPECT_EQ(made_for("checker"), (Names{"checker"}));
}

/// What `cohort verify --explain` prints for one completion.
std::string explain(const RewardConfig& config, const std::string& completion, Json fields = Json::object()) {
  RewardScorer scorer({config});
  Prompt prompt = make_prompt(std::move(fields));
  prompt.text = "Please tell me how many apples there are in the basket.";
  scorer.submit(0, 0, prompt, make_completion(completion));
  std::ostringstream out;
  write_explanation(out, scorer, prompt, make_completion(completion), scorer.take(0).front());
  return out.str();
}

TEST(Explanation, SaysWhatWasReadAndWhy) {
  EXPECT_EQ(explain({.name = "string_check"}, "\\boxed{Paris}", {{"answer", "Rome"}}),
            "rows.jsonl:5\n"
            "  string_check: 0, the answer is \"Paris\"\n"
            "    answer     \"Paris\"\n"
            "    reference  \"Rome\"\n"
            "    operation  eq\n");
  const std::string accuracy = explain({.name = "accuracy"}, "so \\boxed{\\frac{1}{2}}", {{"answer", "0.5"}});
  EXPECT_PART(accuracy, "  accuracy: 1, ");
  EXPECT_PART(accuracy, "divide(1, 2)");
  EXPECT_PART(explain({.name = "accuracy"}, "", {{"answer", "1"}}), "none found");
  EXPECT_PART(explain({.name = "accuracy"}, "not 1", {{"answer", "1"}}), "\"not\" stands before it");
  EXPECT_PART(explain({.name = "accuracy"}, "\\boxed{(B) 12}", {{"answer", "B"}}), "choice B, 12");
  const std::string countdown =
      explain({.name = "countdown"}, "<answer>2 * 3 + 1</answer>", {{"numbers", {1, 2, 3}}, {"target", 6}});
  EXPECT_PART(countdown, "value 7; numbers 2 3 1");
  EXPECT_PART(countdown, "does not equal the target");
  EXPECT_PART(explain({.name = "countdown"}, "<answer>1 / 3</answer>"), "value 1 / 3; numbers 1 3");
  const std::string schema =
      explain({.name = "json_schema"}, "```json\n{\"a\": [1, \"x\"]}\n```",
              {{"schema", {{"properties", {{"a", {{"items", {{"type", "integer"}}}}}}}}}});
  EXPECT_PART(schema, "the last fenced block");
  EXPECT_PART(schema, "0, not valid at \"/a/1\": \"x\" is not of type integer");
  EXPECT_PART(explain({.name = "choice"}, "The answer is B.", {{"answer", "(b)"}}),
              "answer read as           B");
  EXPECT_PART(explain({.name = "numeric"}, "It is 12.5 %", {{"answer", "3 km"}}), "3 (3000 m)");
  EXPECT_PART(explain({.name = "regex", .keys = {{"pattern", "c.t"}}}, "a cat"), "\"cat\" at byte 3");
  EXPECT_PART(explain({.name = "format"}, "<think></think>"), "<think>    1 time, at byte 1");
  EXPECT_PART(explain({.name = "tag_count"}, "x"), "missing");
  EXPECT_PART(explain({.name = "text_similarity"}, "cat", {{"answer", "dog"}}), "rouge_l");
  EXPECT_PART(explain({.name = "language_consistency"}, "There are seven apples in the basket."),
              "en, the prompt's");
  EXPECT_PART(explain({.name = "length", .keys = {{"max_length", 4}}}, "x"), "3 tokens");
}

TEST(Explanation, OfARewardThatDoesNotApply) {
  EXPECT_EQ(explain({.name = "format", .domains = {"math"}}, "x"),
            "rows.jsonl:5\n  format: skipped, the row is of another domain\n");
}

}  // namespace
}  // namespace cohort
