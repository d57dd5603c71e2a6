// <tool_call>name
// <arg_key>key</arg_key>
// <arg_value>value</arg_value>
// </tool_call>
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

ToolCall read_call(std::string_view text, const Json& tools) {
  constexpr std::string_view kKey = "<arg_key>";
  ToolCall call{.name = std::string(trim(text.substr(0, text.find(kKey))))};
  if (call.name.empty()) return broken_call("a tool call needs the name of a tool");
  while (take_until(text, kKey)) {
    const auto key = take_until(text, "</arg_key>");
    const auto between = key ? take_until(text, "<arg_value>") : std::nullopt;
    const auto value = between ? take_until(text, "</arg_value>") : std::nullopt;
    if (!value || !trim(*between).empty()) {
      return broken_call("each <arg_key> of the tool call needs one <arg_value>, and both need their end",
                         call.name);
    }
    add_argument(call, trim(*key), typed_argument(*value, tools, call.name, trim(*key)));
  }
  return call;
}

}  // namespace

void parse_glm(std::string_view text, const Json& tools, AssistantMessage& message) {
  read_blocks(text, "<tool_call>", "</tool_call>", message,
              [&](std::string_view block) { message.tool_calls.push_back(read_call(block, tools)); });
}

}  // namespace cohort
