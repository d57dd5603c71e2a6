// The reward around the library json_schema: where it finds the JSON and the schema.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

RewardResult judge(const RewardConfig& config, const std::string& completion, Json fields = Json::object()) {
  return make_reward(config)->score(make_prompt(std::move(fields)), make_completion(completion));
}

TEST(JsonSchemaReward, FindsTheJson) {
  const Json row{{"schema", {{"type", "integer"}}}};
  const RewardConfig config{.name = "json_schema"};
  const char* right[] = {"3",
                         " 3\n",
                         "Here:\n```json\n3\n```\nDone.",
                         "```json\n\"x\"\n```\n```json\n3\n```",
                         "<answer>3</answer>",
                         "so\n```\n3\n```",
                         "<think>```json\n\"x\"\n```</think>3",
                         "```json\n3"};
  for (const char* text : right) EXPECT_EQ(brief(judge(config, text, row)), "1 ok") << text;
  const char* wrong[] = {"",
                         "The answer is 3.",
                         "```json\n\"x\"\n```",
                         "<answer>\"x\"</answer>",
                         "<think>3</think>",
                         "```json\n3\n```\n```json\n\"x\"\n```",
                         "\\boxed{3}",
                         "3 4"};
  for (const char* text : wrong) EXPECT_EQ(brief(judge(config, text, row)), "0 ok") << text;
  EXPECT_PART(judge(config, "{\"a\": 1, \"a\": 2}", row).detail, "comes twice");
}

TEST(JsonSchemaReward, TheSchemaIsTheRowsOrTheRecipes) {
  EXPECT_EQ(brief(judge({.name = "json_schema"}, "3", {{"schema", "{\"type\": \"integer\"}"}})), "1 ok");
  EXPECT_EQ(
      brief(judge({.name = "json_schema", .keys = {{"column", "s"}}}, "3", {{"s", {{"type", "null"}}}})),
      "0 ok");
  EXPECT_EQ(brief(judge({.name = "json_schema", .keys = {{"schema", "{\"type\": \"integer\"}"}}}, "3")),
            "1 ok");
  const TemporaryDirectory directory;
  const auto path = directory.path() / "schema.json";
  write_json(path, Json{{"minimum", 5}});
  EXPECT_EQ(brief(judge({.name = "json_schema", .keys = {{"schema", path.string()}}}, "3")), "0 ok");
  for (const Json& fields :
       {Json::object(), Json{{"schema", {{"minLenght", 3}}}}, Json{{"schema", "{"}}, Json{{"schema", 3}}})
    EXPECT_EQ(brief(judge({.name = "json_schema"}, "3", fields)), "0 unparsed") << fields;
  EXPECT_PART(judge({.name = "json_schema"}, "3", {{"schema", {{"minLenght", 3}}}}).detail, "minLenght");
  EXPECT_THROW(make_reward({.name = "json_schema", .keys = {{"schema", "{\"minLenght\": 3}"}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "json_schema", .keys = {{"schema", "/no/such/file"}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "json_schema", .keys = {{"column", "a"}, {"schema", "{}"}}}),
               ConfigError);
}

}  // namespace
}  // namespace cohort
