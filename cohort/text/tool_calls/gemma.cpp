// FunctionGemma: <start_function_call>call:name{key:<escape>text<escape>,other:5}<end_function_call>
// Gemma 4:       <|tool_call>call:name{key:<|"|>text<|"|>,other:5}<tool_call|>
#include "cohort/text/tool_calls/literal_reader.h"
#include "cohort/text/tool_calls/parsers.h"

namespace cohort {
namespace {

ToolCall read_call(std::string_view text, std::string_view delimiter) {
  if (!take_until(text, "call:")) return broken_call("a tool call begins with call:name{");
  const std::string_view name = text.substr(0, text.find('{'));
  return LiteralReader(text.substr(name.size()), delimiter).read_object_call(name);
}

void read_calls(std::string_view text, std::string_view open, std::string_view close,
                std::string_view delimiter, AssistantMessage& message) {
  read_blocks(text, open, close, message,
              [&](std::string_view block) { message.tool_calls.push_back(read_call(block, delimiter)); });
}

}  // namespace

void parse_function_gemma(std::string_view text, const Json&, AssistantMessage& message) {
  read_calls(text, "<start_function_call>", "<end_function_call>", "<escape>", message);
}

void parse_gemma4(std::string_view text, const Json&, AssistantMessage& message) {
  read_calls(text, "<|tool_call>", "<tool_call|>", "<|\"|>", message);
}

}  // namespace cohort
