// {"name": ..., "parameters": {...}}, several with ";" between, after <|python_tag|> or not; built-in tools
// are
// <|python_tag|>name.call(key="value"), and any other text after the tag is code for the interpreter.
#include "cohort/text/tool_calls/bare_json.h"
#include "cohort/text/tool_calls/literal_reader.h"
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

/// The calls from the front of `text` on, and whatever follows them.
void read_json_calls(std::string_view text, AssistantMessage& message) {
  while (begins_as_call(text)) {
    const auto call = take_json(text);
    if (!call) {
      message.tool_calls.push_back(unfinished_call("}"));
      return;
    }
    add_json_calls(*call, message);
    text = trim(text);
    if (text.starts_with(';')) text = trim(text.substr(1));
  }
  if (!text.empty()) message.tool_calls.push_back(broken_call("there is text after the tool call"));
}

void read_tagged(std::string_view text, AssistantMessage& message) {
  const size_t dot = text.find(".call(");
  const std::string_view name = text.substr(0, std::min(dot, text.size()));
  const bool is_word = name.find_first_of(" \t\r\n(){}[]=\"'") == std::string_view::npos;
  if (begins_as_call(text)) {
    read_json_calls(text, message);
  } else if (dot != std::string_view::npos && is_word) {
    LiteralReader reader(text.substr(dot + 5));
    message.tool_calls.push_back(reader.read_call(name));
  } else {
    ToolCall call{.name = "code_interpreter"};
    call.arguments["code"] = std::string(text);
    message.tool_calls.push_back(std::move(call));
  }
}

}  // namespace

void parse_llama3(std::string_view text, const Json&, AssistantMessage& message) {
  if (const auto before = take_until(text, "<|python_tag|>")) {
    message.content += trim(*before);
    read_tagged(trim(text), message);
  } else if (const auto place = find_bare_call(text)) {
    message.content += trim(text.substr(0, *place));
    read_json_calls(trim(text.substr(*place)), message);
  } else {
    message.content += text;
  }
}

}  // namespace cohort
