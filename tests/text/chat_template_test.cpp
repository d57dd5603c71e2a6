#include "cohort/text/chat_template.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cohort/text/assistant_mask.h"
#include "tests/core/test_files.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const std::tm kNow = [] {
  std::tm time{};
  time.tm_year = 127;
  time.tm_mon = 2;
  time.tm_mday = 4;
  return time;
}();

/// A model directory that is removed at the end.
class Folder {
 public:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  TemporaryDirectory directory_;
  const fs::path path_ = directory_.path();
};

ChatRequest request_of(const std::string& messages) {
  ChatRequest request;
  request.messages = Json::parse(messages);
  return request;
}

std::string rendered(const std::string& source, const ChatRequest& request) {
  return ChatTemplate({{"default", source}}, Json::object()).render(request, kNow).text;
}

std::string rendered(const std::string& source, const std::string& messages) {
  return rendered(source, request_of(messages));
}

const char* const kUser = R"([{"role": "user", "content": "hi"}])";

TEST(ChatTemplate, FileComesBeforeConfigAndNamesAreChosenByTools) {
  const Folder folder;
  const auto text = [&](const Json& tools) {
    ChatRequest request = request_of(kUser);
    request.tools = tools;
    return ChatTemplate::from_directory(folder.path()).render(request, kNow).text;
  };
  folder.write("tokenizer_config.json", R"({"chat_template": "config {{ bos_token }}", "bos_token": "<s>"})");
  EXPECT_EQ(text(nullptr), "config <s>");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "d{{ eos_token }}"},
                                     {"name": "tool_use", "template": "t"}], "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(text(nullptr), "d</s>");
  EXPECT_EQ(text(Json::array()), "t");
  folder.write("chat_template.jinja", "file");
  EXPECT_EQ(text(Json::array()), "file");
  folder.write("additional_chat_templates/tool_use.jinja", "extra");
  EXPECT_EQ(text(nullptr), "file");
  EXPECT_EQ(text(Json::array()), "extra");
}

TEST(ChatTemplate, SpecialTokensComeFromTheConfigAndTheRequestComesFirst) {
  const Folder folder;
  folder.write("tokenizer_config.json",
               R"({"pad_token": null, "image_token": "<i>", "extra_special_tokens": {"audio": "<a>"}})");
  folder.write("special_tokens_map.json", R"({"eos_token": {"content": "<e>", "lstrip": false}})");
  folder.write("chat_template.jinja",
               "{{ image_token }}{{ audio }}{{ eos_token }}{{ pad_token is defined }}");
  ChatRequest request = request_of(kUser);
  const ChatTemplate chat = ChatTemplate::from_directory(folder.path());
  EXPECT_EQ(chat.render(request, kNow).text, "<i><a><e>False");
  request.variables = {{"image_token", "mine"}};
  EXPECT_EQ(chat.render(request, kNow).text, "mine<a><e>False");
}

TEST(ChatTemplate, UnusableFilesAreNamed) {
  const Folder folder;
  const auto error = [&] { return error_of([&] { ChatTemplate::from_directory(folder.path()); }); };
  EXPECT_NE(error().find("has no chat template"), std::string::npos) << error();
  folder.write("tokenizer_config.json", "{\"chat_template\": 7}");
  EXPECT_NE(error().find("tokenizer_config.json: \"chat_template\" must be"), std::string::npos) << error();
  folder.write("tokenizer_config.json", "{\"chat_template\": [{\"name\": \"x\"}]}");
  EXPECT_NE(error().find("\"template\" must be a string"), std::string::npos) << error();
  folder.write("tokenizer_config.json", "{\"chat_");
  EXPECT_NE(error().find("malformed JSON at byte"), std::string::npos) << error();
  folder.write("tokenizer_config.json", "[]");
  EXPECT_NE(error().find("must hold a JSON object"), std::string::npos) << error();
  folder.write("tokenizer_config.json", "{\"chat_template\": \"a\\n{% if %}\"}");
  EXPECT_NE(error().find("tokenizer_config.json: \"chat_template\": line 2: "), std::string::npos) << error();
  fs::remove(folder.path() / "tokenizer_config.json");
  fs::create_directory(folder.path() / "chat_template.jinja");
  EXPECT_NE(error().find("chat_template.jinja: is a folder"), std::string::npos) << error();
  fs::remove(folder.path() / "chat_template.jinja");
  ASSERT_EQ(mkfifo((folder.path() / "chat_template.jinja").c_str(), 0600), 0);
  EXPECT_NE(error().find("is a FIFO"), std::string::npos) << error();
  fs::remove(folder.path() / "chat_template.jinja");
  fs::create_symlink("chat_template.jinja", folder.path() / "chat_template.jinja");
  EXPECT_NE(error().find("symbolic links"), std::string::npos) << error();
}

TEST(ChatTemplate, NullsGoAndReasoningHasAllItsNames) {
  EXPECT_EQ(rendered("{{ messages }}", R"([{"role": "user", "content": null, "x": 1}])"),
            "[{'role': 'user', 'x': 1}]");
  EXPECT_EQ(rendered("{{ messages[0] }}", R"([{"role": "a", "reasoning": "r", "thinking": null}])"),
            "{'thinking': 'r', 'role': 'a', 'reasoning': 'r', 'reasoning_content': 'r'}");
  EXPECT_EQ(rendered("{{ messages[0] }}", R"([{"thinking": "t", "reasoning": "r"}])"),
            "{'thinking': 't', 'reasoning': 'r', 'reasoning_content': 't'}");
  EXPECT_EQ(rendered("{{ messages[0] }}", R"([{"x": {"y": null}}])"), "{'x': {'y': None}}");
}

TEST(ChatTemplate, AlwaysDefinesToolsAndDocuments) {
  EXPECT_EQ(
      rendered("{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ strftime_now('%d %b %Y') }}", kUser),
      "NoneNoneFalse04 Mar 2027");
}

constexpr const char* kChat =
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}{% if add_generation_prompt "
    "%}<assistant>{% endif %}";

TEST(ChatTemplate, TheFinalMessageIsLeftOpen) {
  const auto text = [](const std::string& content, const char* field = "content") {
    ChatRequest request = request_of(R"([{"role": "assistant", "content": )" + content + "}]");
    request.continue_final_message = field;
    return rendered(kChat, request);
  };
  EXPECT_EQ(text("\"so far\""), "<assistant>so far");
  EXPECT_EQ(text("\"so far  \""), "<assistant>so far");
  EXPECT_THROW(text("null"), UserError);
  EXPECT_THROW(text("7"), UserError);
  EXPECT_THROW(text("[{\"image\": 1}]"), UserError);
  EXPECT_THROW(text("\"a\"", "unread"), UserError);
  ChatRequest request = request_of(R"([{"role": "assistant", "content": "a", "reasoning": "b"}])");
  request.continue_final_message = "reasoning";
  EXPECT_EQ(rendered("{{ messages[0].thinking }}|{{ messages[0].content }}", request), "b");
  request.add_generation_prompt = true;
  EXPECT_THROW(rendered(kChat, request), UserError);
}

TEST(ChatTemplate, RefusesWhatIsNoConversation) {
  for (const char* messages : {"[]", "{}", "\"x\"", "[1]", "[[]]", "null"})
    EXPECT_THROW(rendered(kChat, messages), UserError) << messages;
  ChatRequest request = request_of(kUser);
  request.tools = 3;
  EXPECT_THROW(rendered(kChat, request), UserError);
  request.tools = {"f"};
  EXPECT_THROW(rendered(kChat, request), UserError);
  request.tools = nullptr;
  request.variables = {{"messages", 1}};
  EXPECT_THROW(rendered(kChat, request), UserError);
}

TEST(ChatTemplate, LongConversationsHaveLongBudgets) {
  ChatRequest request;
  for (int i = 0; i < 20'000; ++i)
    request.messages.push_back({{"role", "user"}, {"content", std::string(1000, 'x')}});
  EXPECT_EQ(rendered(kChat, request).size(), 20'000 * (1000 + 9U));
}

TEST(ChatTemplate, FindsWhereARenderingIsNoPrefixOfALaterOne) {
  const std::string messages =
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "thinking": "t"},
                                   {"role": "user", "content": "c"}, {"role": "assistant", "content": "d", "thinking": "u"}])";
  const auto find = [&](const std::string& source) {
    return ChatTemplate({{"default", source}}, Json::object()).find_prefix_break(request_of(messages), kNow);
  };
  EXPECT_FALSE(find(kChat));
  // Earlier thoughts are dropped, as Qwen3's template does.
  const auto dropped = find(
      "{% for m in messages %}<{{ m.role }}>{% if loop.last and m.thinking %}({{ m.thinking }}){% endif %}{{ "
      "m.content }}</>"
      "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->num_messages, 2U);
  EXPECT_FALSE(dropped->with_generation_prompt);
  EXPECT_EQ(dropped->byte, std::string("<user>a</><assistant>").size());
  // The prompt opens a thought that the whole conversation does not have.
  const auto opened = find(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt "
      "%}<assistant>({% endif %}");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->num_messages, 1U);
  EXPECT_TRUE(opened->with_generation_prompt);
}

using Offsets = std::vector<CodePointSpan>;
using Spans = std::vector<CodePointSpan>;

std::vector<int> mask_of(const Offsets& offsets, const Spans& spans) {
  const std::vector<int8_t> mask = assistant_mask(offsets, spans);
  return {mask.begin(), mask.end()};
}

TEST(AssistantMask, CoversTheTokensOfTheSpans) {
  const Offsets offsets = {{0, 2}, {2, 3}, {3, 6}, {6, 7}};
  EXPECT_EQ(mask_of(offsets, {}), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(mask_of(offsets, {{2, 3}}), (std::vector<int>{0, 1, 0, 0}));
  // A token that the span only touches is its own too.
  EXPECT_EQ(mask_of(offsets, {{1, 4}}), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(mask_of(offsets, {{2, 3}, {6, 7}}), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(mask_of(offsets, {{3, 3}}), (std::vector<int>{0, 0, 0, 0}));
}

TEST(AssistantMask, EndsWhereNoTokenIs) {
  // As transformers has it: a last code point without a token, or in the first token, extends to the end.
  const Offsets offsets = {{0, 2}, {2, 3}, {5, 6}, {6, 7}};
  EXPECT_EQ(mask_of(offsets, {{2, 5}}), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(mask_of(offsets, {{0, 1}}), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(mask_of(offsets, {{4, 6}, {6, 7}}), (std::vector<int>{0, 0, 0, 0}));
  // Several tokens of one character, as bytes are: the first one is found.
  EXPECT_EQ(mask_of({{0, 1}, {1, 2}, {1, 2}, {2, 3}}, {{1, 2}}), (std::vector<int>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace cohort
