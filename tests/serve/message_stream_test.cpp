// Reasoning and content of turns that come in pieces.
#include "cohort/serve/api/message_stream.h"

#include <gtest/gtest.h>

#include "libs/common/random.h"

namespace cohort {
namespace {

struct Streamed {
  std::string reasoning, content;
  std::vector<MessageStream::Part> parts;
};

/// A text in pieces of at most `size` bytes.
Streamed stream(const char* format, bool has_tools, bool opens_reasoning, const std::string& text,
                size_t size) {
  const ToolCallFormat& calls = find_tool_call_format(format);
  MessageStream stream(calls, has_tools, opens_reasoning);
  Streamed all;
  const auto take = [&](const std::vector<MessageStream::Part>& parts) {
    for (const MessageStream::Part& part : parts) {
      (part.is_reasoning ? all.reasoning : all.content) += part.text;
      all.parts.push_back(part);
    }
  };
  for (size_t i = 0; i < text.size(); i += size) take(stream.push(text.substr(i, size)));
  const Json tools =
      has_tools ? Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}}) : Json();
  take(stream.finish(parse_turn(calls, (opens_reasoning ? "<think>" : "") + text, tools)));
  return all;
}

TEST(MessageStream, SplitsReasoningFromContentWhateverThePieces) {
  for (size_t size = 1; size < 40; ++size) {
    const Streamed all = stream("hermes", true, false, "<think>\nI see. </think>\n\nYes, 3 < 4.", size);
    EXPECT_EQ(all.reasoning, "I see.");
    EXPECT_EQ(all.content, "Yes, 3 < 4.");
    const Streamed open = stream("hermes", true, true, "I see.</think>Yes", size);
    EXPECT_EQ(open.reasoning, "I see.");
    EXPECT_EQ(open.content, "Yes");
  }
}

TEST(MessageStream, GivesTextAtOnceWhereNothingCanFollowFromIt) {
  const Streamed all = stream("hermes", true, false, "One two three", 4);
  ASSERT_EQ(all.parts.size(), 4u);
  EXPECT_EQ(all.parts[0].text, "One");  // the white space may be the end of the turn
  EXPECT_EQ(all.parts[1].text, " two");
}

TEST(MessageStream, KeepsCallsBack) {
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  for (size_t size = 1; size < 60; ++size) {
    EXPECT_EQ(stream("hermes", true, false, "I call. " + call, size).content, "I call.");
    EXPECT_EQ(stream("hermes", false, false, "I call. <tool", size).content, "I call. <tool");
    EXPECT_EQ(stream("json", true, false, R"({"name": "f", "arguments": {}})", size).content, "");
    EXPECT_EQ(stream("json", true, false, R"({"a": 1})", size).content, R"({"a": 1})");
    EXPECT_EQ(stream("mistral", true, false, "Well[TOOL_CALLS]f{}", size).content, "Well");
    EXPECT_EQ(stream("llama3", true, false, "So {it} is", size).content, "So {it} is");
  }
}

// What a stream gives is a beginning of what the whole turn holds, and with finish() all of it, unless the
// turn breaks off within a mark.
TEST(MessageStream, AgreesWithTheWholeTurnForAnyPieces) {
  const char* words[] = {"a",
                         " ",
                         "\n",
                         "<think>",
                         "</think>",
                         "<tool_call>",
                         "</tool_call>",
                         "{\"name\": \"f\"}",
                         "<",
                         "[TOOL_CALLS]",
                         "hello",
                         "[",
                         "{",
                         "\t"};
  CounterRng random(7);
  for (const std::string& format : tool_call_format_names()) {
    if (format == "harmony") continue;  // its content stands within marks, and is kept back as a whole
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (uint64_t n = random.below(8); n > 0; --n) text += words[random.below(std::size(words))];
      const Json tools = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
      const AssistantMessage whole = parse_turn(find_tool_call_format(format), text, tools);
      const Streamed all = stream(format.c_str(), true, false, text, 1 + random.below(5));
      // A second mark in the reasoning changes what it was taken for.
      if (text.find("<think>") != text.rfind("<think>") || text.find("</think>") != text.rfind("</think>"))
        continue;
      if (text.find("</think>") < text.find("<think>")) continue;
      EXPECT_TRUE(whole.content.starts_with(all.content) || !whole.tool_calls.empty())
          << format << " " << text << "\n"
          << all.content << "\n"
          << whole.content;
    }
  }
}

}  // namespace
}  // namespace cohort
