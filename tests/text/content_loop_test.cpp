// Which templates read a message's content as a list of parts, and which file a broken template is named by.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/text/chat_template.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

bool reads_parts(const std::string& source) {
  return ChatTemplate({{"default", source}}, Json::object()).reads_content_parts(false);
}

TEST(ContentLoop, IsFoundInEverySpelling) {
  for (const char* loop :
       {"{% for p in m.content %}{{ p.text }}{% endfor %}",
        "{% for p in m['content'] %}{{ p.text }}{% endfor %}",
        "{%- for p in m['content'] | selectattr('type', 'equalto', 'text') -%}x{%- endfor -%}",
        "{% for p in m.content[1:] %}x{% endfor %}",
        "{% set parts = m.content %}{% for p in parts %}x{% endfor %}",
        "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}x{% endfor %}{% endif "
        "%}",
        "{% for p in (m.content if m.content is not string else []) %}x{% endfor %}"}) {
    EXPECT_TRUE(reads_parts("{% for m in messages %}" + std::string(loop) + "{% endfor %}")) << loop;
  }
  EXPECT_TRUE(
      reads_parts("{% macro show(content) %}{% for item in content %}x{% endfor %}{% endmacro %}{{ "
                  "show(messages[0]) }}"));
}

TEST(ContentLoop, IsNoLoopOverOtherThings) {
  for (const char* text :
       {"{{ m.content }}", "{{ '<' + m['role'] + '>' + m['content'] }}",
        "{% for t in m.tool_calls %}x{% endfor %}",
        "{% for line in m.content.split('\\n') %}{{ line }}{% endfor %}", "{{ m.content | trim }}"}) {
    EXPECT_FALSE(reads_parts("{% for m in messages %}" + std::string(text) + "{% endfor %}")) << text;
  }
}

TEST(ChatTemplateFiles, ABrokenTemplateIsNamedByItsFile) {
  const TemporaryDirectory folder;
  const auto jinja = folder.path() / "chat_template.jinja";
  const auto message = [&] {
    return message_of<FormatError>([&] { ChatTemplate::from_directory(folder.path()); });
  };
  const auto named = [&](const std::filesystem::path& path, const std::string& part) {
    const std::string text = message();
    EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  write_text(jinja, std::string((1 << 20) + 1, 'x'));
  named(jinja, "bytes; at most");
  write_text(jinja, "caf\xE9");
  named(jinja, "not well-formed UTF-8 at byte 3");
  write_text(jinja, "{% for %}");
  named(jinja, "");
  write_text(jinja, "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5000\n");
  named(jinja, "Git LFS pointer");
  std::filesystem::remove(jinja);
  write_text(folder.path() / "tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  named(folder.path() / "tokenizer_config.json", "\"chat_template\"");
  write_text(
      folder.path() / "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "rag", "template": "{{"}]})");
  named(folder.path() / "tokenizer_config.json", "\"rag\"");
}

TEST(ChatTemplateFiles, AFileMayTakeThePlaceOfTheModelsTemplates) {
  const TemporaryDirectory folder;
  write_text(folder.path() / "chat_template.jinja", "own");
  write_text(folder.path() / "other.jinja", "other {{ bos_token }}");
  write_text(folder.path() / "tokenizer_config.json", R"({"bos_token": "<s>"})");
  ChatRequest request;
  request.messages = Json::parse(R"([{"role": "user", "content": "hi"}])");
  const auto chat = ChatTemplate::from_directory(folder.path(), folder.path() / "other.jinja");
  EXPECT_EQ(chat.render(request, {}).text, "other <s>");
  const auto missing = folder.path() / "none.jinja";
  EXPECT_TRUE(message_of<FormatError>([&] {
                ChatTemplate::from_directory(folder.path(), missing);
              }).starts_with(missing.string() + ": can't be read"));
}

}  // namespace
}  // namespace cohort
