// <tool_call>
// <function=name>
// <parameter=key>
// value
// </parameter>
// </function>
// </tool_call>
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

/// A value without the line breaks that the form puts around it; those of the value itself stay.
std::string_view without_line_breaks(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

ToolCall read_call(std::string_view text, const Json& tools) {
  const auto before = take_until(text, "<function=");
  const auto name = before ? take_until(text, ">") : std::nullopt;
  if (!name || trim(*name).empty()) return broken_call("a tool call needs <function=name>");
  ToolCall call{.name = std::string(trim(*name))};
  const auto body = take_until(text, "</function>");
  if (!body) return unfinished_call("</function>", call.name);
  std::string_view rest = *body;
  while (take_until(rest, "<parameter=")) {
    const auto key = take_until(rest, ">");
    const auto value = key ? take_until(rest, "</parameter>") : std::nullopt;
    if (!value) return broken_call("a parameter of the tool call does not end with </parameter>", call.name);
    const std::string_view parameter = trim(*key);
    add_argument(call, parameter, typed_argument(without_line_breaks(*value), tools, call.name, parameter));
  }
  return call;
}

}  // namespace

void parse_qwen_xml(std::string_view text, const Json& tools, AssistantMessage& message) {
  read_blocks(text, "<tool_call>", "</tool_call>", message,
              [&](std::string_view block) { message.tool_calls.push_back(read_call(block, tools)); });
}

}  // namespace cohort
