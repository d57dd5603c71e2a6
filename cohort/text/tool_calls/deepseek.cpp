// <｜tool▁calls▁begin｜>, the calls, <｜tool▁calls▁end｜>. A call of V3 and R1 is
//   <｜tool▁call▁begin｜>function<｜tool▁sep｜>name
//   ```json
//   {...}
//   ```<｜tool▁call▁end｜>
// and one of V3.1 <｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>.
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

constexpr std::string_view kEnd = "<｜tool▁call▁end｜>";

std::string_view without_fence(std::string_view text) {
  text = trim(text);
  if (text.starts_with("```json")) text.remove_prefix(7);
  if (text.ends_with("```")) text.remove_suffix(3);
  return text;
}

ToolCall read_call(std::string_view text) {
  const auto head = take_until(text, "<｜tool▁sep｜>");
  if (!head) return broken_call("a tool call needs <｜tool▁sep｜> before its arguments");
  if (trim(*head) != "function") return call_with_arguments(*head, text);
  const std::string_view name = text.substr(0, text.find('\n'));
  return call_with_arguments(name, without_fence(text.substr(name.size())));
}

}  // namespace

void parse_deepseek(std::string_view text, const Json&, AssistantMessage& message) {
  take_blocks(text, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", message, [&](Block calls) {
    AssistantMessage between;  // what stands between the calls, which is nothing but line breaks
    take_blocks(calls.text, "<｜tool▁call▁begin｜>", kEnd, between, [&](Block call) {
      message.tool_calls.push_back(call.is_closed ? read_call(call.text) : unfinished_call(kEnd));
    });
    if (!between.content.empty())
      message.tool_calls.push_back(broken_call("there is text between the tool calls"));
  });
}

}  // namespace cohort
