// TRL's formats: what of a row is text, what is rendered, and what is learnt.
#include "cohort/tasks/row_text.h"

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

/// Plain prompts get a first token 1, as from a tokenizer that marks the beginning.
std::vector<int32_t> with_mark(const std::string& text) {
  std::vector<int32_t> ids{1};
  ids.insert(ids.end(), text.begin(), text.end());
  return ids;
}
std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// "user:hi|assistant:": a template that keeps prefixes.
std::string render(const Json& messages, const RenderOptions& options) {
  std::string text = options.tools.is_null() ? "" : str("tools", options.tools.size(), "|");
  for (size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (message.at("role") == "nobody") throw FormatError("no such role");
    text += str(message.at("role").get<std::string>(), ":", message.value("content", ""));
    if (i + 1 < messages.size() || !options.continue_final_message) text += "|";
  }
  return text + (options.add_generation_prompt ? "assistant:" : "");
}

const TextFormat kPlain{with_mark, bytes_of, {}};
const TextFormat kChat{with_mark, bytes_of, render};

Row row_of(const char* json) { return {Json::parse(json), "f:7", "dir/f:7"}; }
Prompt prompt_of(const char* json) { return to_prompt(row_of(json), kChat); }
std::string refused(const char* json, const TextFormat& format = kChat) {
  const std::string message = message_of<FormatError>([&] { to_prompt(row_of(json), format); });
  EXPECT_TRUE(message.starts_with("dir/f:7: ")) << message;
  return message;
}

TEST(RowText, APlainPromptIsTokenizedAsItIs) {
  const Prompt prompt = prompt_of(R"({"prompt":"hi","answer":3})");
  EXPECT_EQ(prompt.id, "f:7");
  EXPECT_EQ(prompt.text, "hi");
  EXPECT_EQ(prompt.token_ids, with_mark("hi"));
  EXPECT_EQ(prompt.fields, Json({{"answer", 3}}));
}

TEST(RowText, AConversationIsRenderedAndGetsNoMark) {
  const Prompt prompt = prompt_of(R"({"prompt":[{"role":"user","content":"hi"}],"answer":3})");
  EXPECT_EQ(prompt.text, "user:hi|assistant:");
  EXPECT_EQ(prompt.token_ids, bytes_of("user:hi|assistant:"));
  EXPECT_EQ(prompt.fields.at("prompt_messages"), Json::parse(R"([{"role":"user","content":"hi"}])"));
  EXPECT_EQ(prompt.fields.at("answer"), 3);
  EXPECT_EQ(prompt_of(R"({"prompt":[{"role":"user"},{"role":"assistant","content":"<think>"}]})").text,
            "user:|assistant:<think>");
  EXPECT_EQ(prompt_of(R"({"prompt":[{"role":"user","content":"x"}],"tools":[1,2]})").text,
            "tools2|user:x|assistant:");
  EXPECT_EQ(prompt_of(R"({"prompt":[{"role":"user","content":"x"}],"tools":"[1,2]"})").text,
            prompt_of(R"({"prompt":[{"role":"user","content":"x"}],"tools":[1,2]})").text);
  EXPECT_THROW(prompt_of(R"({"prompt":[{"role":"user","content":"x"}],"tools":"[1,"})"), FormatError);
}

TEST(RowText, WithoutATemplateConversationsAreRefused) {
  EXPECT_NE(refused(R"({"prompt":[{"role":"user","content":"hi"}]})", kPlain).find("chat template"),
            std::string::npos);
}

TEST(RowText, RefusalsNameTheColumn) {
  for (const auto& [json, part] : std::map<const char*, const char*>{
           {R"({"text":"x","a":1})", R"(the column "prompt" is missing; the row has "text", "a")"},
           {R"({})", "the row has none"},
           {R"({"prompt":3})", R"("prompt" must be a string or a list of messages, not number)"},
           {R"({"prompt":null})", "not null"},
           {R"({"prompt":{"role":"user"}})", "not object"},
           {R"({"prompt":[]})", "without messages"},
           {R"({"prompt":["hi"]})", "without a string \"role\""},
           {R"({"prompt":[{"content":"hi"}]})", "without a string \"role\""},
           {R"({"prompt":[{"role":"nobody"}]})", "no such role"}}) {
    EXPECT_NE(refused(json).find(part), std::string::npos) << json << ": " << refused(json);
  }
  const TextFormat unmarked{bytes_of, bytes_of, {}};
  EXPECT_NE(refused(R"({"prompt":""})", unmarked).find("the prompt has no tokens"), std::string::npos);
}

PromptCompletion pair_of(const char* json) { return to_prompt_completion(row_of(json), kChat); }
std::string refused_pair(const char* json) {
  return message_of<FormatError>([&] { to_prompt_completion(row_of(json), kChat); });
}

TEST(RowText, PlainPairs) {
  for (const char* json :
       {R"({"prompt":"a","completion":"bc","solution":"no"})", R"({"prompt":"a","solution":"bc"})"}) {
    const PromptCompletion pair = pair_of(json);
    EXPECT_EQ(pair.prompt_ids, with_mark("a"));
    EXPECT_EQ(pair.completion_ids, bytes_of("bc"));
    EXPECT_FALSE(pair.is_rendered);
  }
}

TEST(RowText, ConversationsAreCutBehindThePrompt) {
  for (const char* json :
       {R"({"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}]})",
        R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})"}) {
    const PromptCompletion pair = pair_of(json);
    EXPECT_EQ(pair.prompt_ids, bytes_of("user:q|assistant:"));
    EXPECT_EQ(pair.completion_ids, bytes_of("a|"));
    EXPECT_TRUE(pair.is_rendered);
  }
}

TEST(RowText, PairsThatAreNoneAreRefused) {
  for (const auto& [json, part] : std::map<const char*, const char*>{
           {R"({"prompt":"a"})", R"(the column "completion" is missing)"},
           {R"({"prompt":"a","completion":1})", R"("completion" must be a string or a list)"},
           {R"({"prompt":"a","completion":[{"role":"assistant","content":"b"}]})", "must both be"},
           {R"({"completion":"a"})", R"(the column "prompt" is missing)"},
           {R"({"messages":[{"role":"user","content":"q"}]})", "must be the assistant's"},
           {R"({"messages":[{"role":"assistant","content":"q"}]})", "must be the assistant's"},
           {R"({"messages":"x"})", "must be a list of messages"},
           {R"({"messages":[]})", "without messages"}}) {
    EXPECT_NE(refused_pair(json).find(part), std::string::npos) << json << ": " << refused_pair(json);
  }
  const TextFormat unsteady{with_mark, bytes_of, [](const Json& messages, const RenderOptions&) {
                              return str(messages.size(), " messages");
                            }};
  const Row row = row_of(R"({"messages":[{"role":"user"},{"role":"assistant"}]})");
  EXPECT_NE(message_of<FormatError>([&] { to_prompt_completion(row, unsteady); }).find("can't be told apart"),
            std::string::npos);
}

TEST(RowText, KeysTellPromptsApart) {
  EXPECT_EQ(prompt_key(row_of(R"({"prompt":"a","n":1})")), prompt_key(row_of(R"({"prompt":"a","n":2})")));
  EXPECT_NE(prompt_key(row_of(R"({"prompt":"a"})")), prompt_key(row_of(R"({"prompt":"b"})")));
  // The prompt of `messages` is all but the last one.
  EXPECT_EQ(prompt_key(row_of(R"({"messages":[{"role":"user"},{"role":"assistant"}]})")),
            prompt_key(row_of(R"({"prompt":[{"role":"user"}]})")));
}

}  // namespace
}  // namespace cohort
