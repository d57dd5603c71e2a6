// What a run says of all its prompts: a system prompt, variables of the template, another template; and
// content in parts.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/tasks/content_parts.h"
#include "cohort/tasks/text_format.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

/// A tokenizer of single bytes, with a template that joins strings.
class TextSettingsTest : public testing::Test {
 protected:
  TextSettingsTest() {
    Json vocab = Json::object();
    for (int c = 32; c < 127; ++c) vocab[c == 32 ? "\xC4\xA0" : std::string(1, static_cast<char>(c))] = c;
    vocab["\xC4\x8A"] = 10;
    const Json byte_level{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    const Json tokenizer{{"pre_tokenizer", byte_level},
                         {"decoder", byte_level},
                         {"added_tokens", Json::array()},
                         {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
    write_text(path("tokenizer.json"), tokenizer.dump());
    write_text(path("chat_template.jinja"), kJoining);
    tokenizer_.emplace(Tokenizer::from_directory(folder_.path()));
  }

  std::filesystem::path path(const char* name) const { return folder_.path() / name; }

  Prompt prompt_of(const char* row, const TextSettings& settings = {}) const {
    const TextFormat format = text_format(*tokenizer_, folder_.path(), {}, settings);
    return to_prompt({Json::parse(row), "f:1", "dir/f:1"}, format);
  }

  AssistantTurns turns_of(const char* row, const TextSettings& settings = {}) const {
    const TextFormat format = text_format(*tokenizer_, folder_.path(), {}, settings);
    return assistant_turns({Json::parse(row), "f:1", "dir/f:1"}, format);
  }

  /// "prompt[learnt]other[learnt]".
  std::string shown(const AssistantTurns& turns) const {
    std::string text(turns.prompt_ids.begin(), turns.prompt_ids.end());
    for (size_t i = 0; i < turns.completion_ids.size(); ++i) {
      if (turns.is_assistant[i] != 0 && (i == 0 || turns.is_assistant[i - 1] == 0)) text += '[';
      if (turns.is_assistant[i] == 0 && i > 0 && turns.is_assistant[i - 1] != 0) text += ']';
      text += static_cast<char>(turns.completion_ids[i]);
    }
    return text + ']';
  }

  static constexpr const char* kJoining =
      "{% if think is defined %}think={{ think }} {% endif %}"
      "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] + ';' }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";

  TemporaryDirectory folder_;
  std::optional<Tokenizer> tokenizer_;
};

TEST_F(TextSettingsTest, TheSystemPromptStandsBeforePromptsWithoutOne) {
  const TextSettings settings{.chat_template = {}, .system_prompt = "Be brief.", .chat_template_kwargs = {}};
  const char* row = R"({"prompt": [{"role": "user", "content": "hi"}]})";
  const Prompt prompt = prompt_of(row, settings);
  EXPECT_EQ(prompt.text, "<system>Be brief.;<user>hi;<assistant>");
  EXPECT_EQ(std::string(prompt.token_ids.begin(), prompt.token_ids.end()), prompt.text);
  EXPECT_EQ(prompt.fields.at("prompt_messages")[0].at("content"), "Be brief.");
  for (const char* role : {"system", "developer"}) {
    const std::string own = str(R"({"prompt": [{"role": ")", role,
                                R"(", "content": "own"}, {"role": "user", "content": "hi"}]})");
    EXPECT_EQ(prompt_of(own.c_str(), settings).text, str("<", role, ">own;<user>hi;<assistant>"));
  }
  EXPECT_EQ(prompt_of(R"({"prompt": "hi"})", settings).text, "Be brief.\n\nhi");
  EXPECT_EQ(prompt_of(R"({"prompt": "hi"})").text, "hi");
}

TEST_F(TextSettingsTest, ARowsVariablesOverrideThoseOfTheRun) {
  TextSettings settings;
  settings.chat_template_kwargs = {{"think", false}};
  EXPECT_EQ(prompt_of(R"({"prompt": [{"role": "user", "content": "a"}]})", settings).text,
            "think=False <user>a;<assistant>");
  EXPECT_EQ(
      prompt_of(R"({"prompt": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"think": 3}})",
                settings)
          .text,
      "think=3 <user>a;<assistant>");
  EXPECT_EQ(prompt_of(R"({"prompt": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"x": 3}})",
                      settings)
                .text,
            "think=False <user>a;<assistant>");
}

TEST_F(TextSettingsTest, AnotherTemplateIsReadAtOnce) {
  write_text(path("mine.jinja"), "mine:{{ messages[0].content }}");
  TextSettings settings;
  settings.chat_template = path("mine.jinja").string();
  EXPECT_EQ(prompt_of(R"({"prompt": [{"role": "user", "content": "a"}]})", settings).text, "mine:a");
  settings.chat_template = path("missing.jinja").string();
  EXPECT_NE(
      message_of<FormatError>([&] { prompt_of(R"({"prompt": "plain"})", settings); }).find("missing.jinja"),
      std::string::npos);
}

TEST_F(TextSettingsTest, TextPartsAreJoinedForTemplatesThatTakeStrings) {
  EXPECT_EQ(
      prompt_of(R"({"prompt": [{"role": "user", "content": [{"type": "text", "text": "1+1?"}]}]})").text,
      "<user>1+1?;<assistant>");
  EXPECT_EQ(prompt_of(R"({"prompt": [{"role": "user", "content": [{"type": "text", "text": "a"}, "b",
                                                                  {"type": "input_text", "text": "c"}]}]})")
                .text,
            "<user>a\nb\nc;<assistant>");
  write_text(path("chat_template.jinja"),
             "{% for m in messages %}{% for p in m.content %}({{ p.text }}){% endfor %}{% endfor %}");
  EXPECT_EQ(prompt_of(R"({"prompt": [{"role": "user", "content": [{"type": "text", "text": "a"},
                                                                  {"type": "text", "text": "b"}]}]})")
                .text,
            "(a)(b)");
}

TEST_F(TextSettingsTest, OtherPartsAreRefusedByTheirType) {
  const auto refused = [&](const char* row) { return message_of<FormatError>([&] { prompt_of(row); }); };
  EXPECT_EQ(
      refused(R"({"prompt": [{"role": "user", "content": [{"type": "text", "text": "a"},
                                                                {"type": "image_url", "image_url": {}}]}]})"),
      "dir/f:1: the column \"prompt\" holds a message with a part of type \"image_url\"; only text can be "
      "read");
  EXPECT_NE(
      refused(R"({"prompt": [{"role": "user", "content": [{"content": "a"}]}]})").find("no string \"text\""),
      std::string::npos);
}

constexpr const char* kTwoTurns =
    R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
                     {"role": "user", "content": "r"}, {"role": "assistant", "content": "bb"}]})";

TEST_F(TextSettingsTest, EveryTurnOfTheAssistantIsMarked) {
  EXPECT_EQ(shown(turns_of(kTwoTurns)), "<user>q;<assistant>[a;]<user>r;<assistant>[bb;]");
  TextSettings settings;
  settings.system_prompt = "s";
  EXPECT_EQ(shown(turns_of(kTwoTurns, settings)),
            "<system>s;<user>q;<assistant>[a;]<user>r;<assistant>[bb;]");
  EXPECT_EQ(
      shown(turns_of(R"({"prompt": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
                                          {"role": "user", "content": "r"}],
                               "completion": [{"role": "assistant", "content": "b"},
                                              {"role": "tool", "content": "t"},
                                              {"role": "assistant", "content": "c"}]})")),
      "<user>q;<assistant>a;<user>r;<assistant>[b;]<tool>t;<assistant>[c;]");
}

TEST_F(TextSettingsTest, TheTemplatesOwnMarksCount) {
  write_text(
      path("chat_template.jinja"),
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
      "{% endgeneration %}{% else %}{{ m.content }}{% endif %};{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_EQ(shown(turns_of(kTwoTurns)), "<user>q;<assistant>[a];<user>r;<assistant>[bb]");
}

TEST_F(TextSettingsTest, ConversationsThatCannotBeMarkedAreRefused) {
  const auto refused = [&](const char* row) { return message_of<FormatError>([&] { turns_of(row); }); };
  EXPECT_NE(refused(R"({"prompt": "a", "completion": "b"})").find("assistant_only_loss needs conversations"),
            std::string::npos);
  EXPECT_NE(refused(R"({"messages": [{"role": "user", "content": "q"}]})").find("nothing to learn"),
            std::string::npos);
  write_text(path("chat_template.jinja"),
             "{% for m in messages %}{{ m.content if loop.last else '-' }}{% endfor %}");
  EXPECT_NE(refused(kTwoTurns).find("no {% generation %} block"), std::string::npos);
}

}  // namespace
}  // namespace cohort
