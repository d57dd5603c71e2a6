// Tools of a server: what it is asked, where its schemas come from, and everything that it can do wrong.
#include "cohort/env/http_tool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "cohort/core/error.h"
#include "cohort/env/environment_config.h"
#include "tests/env/replies.h"
#include "tests/rewards/python_server.h"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

class HttpToolTest : public testing::Test {
 protected:
  ToolConfig config_of(const std::string& mode) const {
    return {.type = "http", .timeout_s = 5.0, .url = server_.url("/" + mode), .retries = 0};
  }

  static Reply add(Environment& environment, int64_t a, int64_t b) {
    auto episode = std::move(environment.begin({{}}).front().episode);
    const Json arguments{{"a", a}, {"b", b}};
    return reply_to(*episode, {.content = "", .tool_calls = {{.name = "add", .arguments = arguments}}});
  }

  /// Why a call fails its episode.
  std::string failure(const std::string& mode) const {
    ToolConfig config = config_of(mode);
    config.schema = R"({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}})";
    return add(*make_environment({}, {config}), 2, 3).failure;
  }

  std::string refusal(const ToolConfig& config) const {
    return message_of<ConfigError>([&] { make_environment({}, {config}); });
  }

  PythonServer server_{"../env/tool_server.py"};
};

TEST_F(HttpToolTest, PostsCallsAndReadsTheirResults) {
  const auto environment = make_environment({}, {config_of("fair")});
  ASSERT_EQ(environment->tools().size(), 1u);
  EXPECT_EQ(environment->tools()[0].at("function").at("description"), "Adds two integers.");
  EXPECT_EQ(add(*environment, 2, 3).messages[0].at("content"), "5");
  EXPECT_EQ(add(*environment, 40, 2).messages[0].at("content"), "42");
  const std::vector<Json> requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].at("get"), "/fair/describe");
  EXPECT_EQ(
      requests[2],
      Json::parse(R"({"name": "add", "arguments": {"a": 40, "b": 2}, "episode": 1, "authorization": null})"));
  const Reply wrong = [&] {
    auto episode = std::move(environment->begin({{}}).front().episode);
    return reply_to(*episode, {.content = "", .tool_calls = {{.name = "add", .arguments = {{"a", "x"}}}}});
  }();
  EXPECT_EQ(wrong.num_failed_calls, 1);
  EXPECT_EQ(server_.requests().size(), 3u);  // arguments that the schema forbids stay here
}

TEST_F(HttpToolTest, AnErrorIsATextForThePolicy) {
  const auto environment = make_environment({}, {config_of("error")});
  const Reply reply = add(*environment, 2, 3);
  EXPECT_EQ(reply.failure, "");
  EXPECT_EQ(reply.num_failed_calls, 1);
  EXPECT_EQ(reply.messages[0].at("content"), R"({"error":"too large"})");
}

TEST_F(HttpToolTest, ABrokenServerFailsTheEpisode) {
  for (const auto& [mode, reason] :
       {std::pair("no_json", "neither a text"), std::pair("no_content", "neither a text"),
        std::pair("number", "neither a text"), std::pair("empty", "neither a text"),
        std::pair("flood", "larger than 4 MiB"), std::pair("status500", "HTTP 500"),
        std::pair("status404", "HTTP 404"), std::pair("reset", "the server of the tool add")}) {
    const std::string text = failure(mode);
    EXPECT_TRUE(text.starts_with("the server of the tool add: ")) << mode << ": " << text;
    EXPECT_NE(text.find(reason), std::string::npos) << mode << ": " << text;
  }
}

TEST_F(HttpToolTest, AServerThatHangsFailsTheEpisodeInTime) {
  for (const char* mode : {"hang", "trickle"}) {
    ToolConfig config = config_of(mode);
    config.timeout_s = 1.0;
    const auto environment = make_environment({}, {config});
    const auto began = Clock::now();
    EXPECT_NE(add(*environment, 2, 3).failure, "");
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(8));
  }
}

TEST_F(HttpToolTest, SchemasComeFromTheServerOrTheRecipe) {
  for (const char* mode : {"one", "list"})
    EXPECT_EQ(make_environment({}, {config_of(mode)})->tools().size(), 1u);
  ToolConfig config = config_of("no_tool");
  config.schema = R"({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}})";
  EXPECT_EQ(add(*make_environment({}, {config}), 2, 3).messages[0].at("content"), "5");
  config.schema = "{";
  EXPECT_TRUE(refusal(config).starts_with("tool.schema is no JSON: ")) << refusal(config);
  config.schema = "[]";
  EXPECT_EQ(refusal(config), "tool.schema has no tool");
  config.schema = R"({"name": "add"})";
  EXPECT_TRUE(refusal(config).starts_with("tool.schema: a tool's schema needs")) << refusal(config);
  EXPECT_NE(refusal(config_of("no_json")).find("url/describe is no JSON"), std::string::npos);
  EXPECT_NE(refusal(config_of("no_tool")).find("has no tool"), std::string::npos);
  EXPECT_NE(refusal(config_of("no_schema")).find("a tool's schema needs"), std::string::npos);
  EXPECT_NE(refusal(config_of("status500")).find("gives no schemas: HTTP 500; start the server"),
            std::string::npos);
  EXPECT_NE(refusal(config_of("fair?a=b")).find("tool.schema is missing"), std::string::npos);
}

TEST_F(HttpToolTest, TheKeyIsSentAndNeverShown) {
  setenv("TOOL_TEST_KEY", "very-secret", 1);
  ToolConfig config = config_of("fair");
  config.api_key_env = "TOOL_TEST_KEY";
  add(*make_environment({}, {config}), 2, 3);
  for (const Json& request : server_.requests()) EXPECT_EQ(request.at("authorization"), "Bearer very-secret");
  config.api_key_env = "TOOL_TEST_NO_KEY";
  EXPECT_EQ(refusal(config),
            "tool http: the environment variable TOOL_TEST_NO_KEY, which `api_key_env` names, is not set");
  config.url = "ftp://127.0.0.1/x";
  EXPECT_TRUE(refusal(config).starts_with("tool http: `url` must be an address")) << refusal(config);
}

TEST(ToolConfig, KeysWithoutEffectAreRefused) {
  const auto refusal = [](const ToolConfig& config, double timeout_s = 60.0) {
    return message_of<ConfigError>([&] { config.check(timeout_s); });
  };
  EXPECT_EQ(refusal({.type = "retrieval"}), "tool.folder is missing: type = \"retrieval\" needs it");
  EXPECT_EQ(refusal({.type = "http"}), "tool.url is missing: type = \"http\" needs it");
  EXPECT_EQ(refusal({.type = "mcp"}), "tool.command is missing: type = \"command\" or \"mcp\" needs it");
  EXPECT_EQ(refusal({.type = "bash", .folder = "x"}),
            "tool.folder has no effect without type = \"retrieval\": remove one of the two");
  EXPECT_EQ(
      refusal({.type = "calculator", .memory_mb = 256}),
      "tool.memory_mb has no effect without type = \"code_interpreter\" or \"bash\": remove one of the two");
  const ToolConfig everything{.type = "calculator", .name = "x", .timeout_s = 1.0, .memory_mb = 64};
  EXPECT_THROW(everything.check(60.0), ConfigError);
  for (const ToolConfig& config :
       {ToolConfig{.type = "calculator", .name = "x"},
        ToolConfig{.type = "retrieval", .timeout_s = 1.0, .folder = "x"},
        ToolConfig{.type = "http", .max_output_length = 64, .url = "x"},
        ToolConfig{.type = "calculator", .runtime = {"/usr"}},
        ToolConfig{.type = "calculator", .waive_layers = {"memory"}},
        ToolConfig{.type = "bash", .schema = "{}"}, ToolConfig{.type = "bash", .retries = 1},
        ToolConfig{.type = "bash", .api_key_env = "X"}, ToolConfig{.type = "bash", .url = "x"}, ToolConfig{}})
    EXPECT_THROW(config.check(60.0), ConfigError) << config.type;
  EXPECT_EQ(refusal({.type = "bash", .timeout_s = 60.0}),
            "tool.timeout_s = 60 must be below environment.timeout_s = 60, after which the episode has "
            "failed: change "
            "one of them");
  EXPECT_THROW((ToolConfig{.type = "bash"}).check(5.0), ConfigError);
  (ToolConfig{.type = "calculator"}).check(5.0);
}

// The figure of docs/environments.md.
TEST_F(HttpToolTest, DISABLED_TimeOfACall) {
  const auto environment = make_environment({}, {config_of("fair")});
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const auto began = Clock::now();
    add(*environment, i, 1);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  std::ranges::sort(times);
  printf("http: a call %.3f ms\n", times[50]);
}

}  // namespace
}  // namespace cohort
