// <|tool_call_start|>[name(key='text', other=5), second()]<|tool_call_end|>: a Python list of calls.
#include "cohort/text/tool_calls/literal_reader.h"
#include "cohort/text/tool_calls/parsers.h"

namespace cohort {
namespace {

void read_calls(std::string_view text, AssistantMessage& message) {
  LiteralReader reader(text);
  if (!reader.take("[")) {
    message.tool_calls.push_back(broken_call("tool calls are a list [name(key=value), ...]"));
    return;
  }
  while (!reader.take("]")) {
    message.tool_calls.push_back(reader.read_call(reader.take_word()));
    if (!message.tool_calls.back().error.empty()) return;  // where it ends is unknown
    const bool has_next = reader.take(",");
    if (!has_next && reader.is_at_end()) {
      message.tool_calls.push_back(unfinished_call("]"));
      return;
    }
  }
  if (!reader.is_at_end()) message.tool_calls.push_back(broken_call("there is text after the tool calls"));
}

}  // namespace

void parse_lfm2(std::string_view text, const Json&, AssistantMessage& message) {
  read_blocks(text, "<|tool_call_start|>", "<|tool_call_end|>", message,
              [&](std::string_view block) { read_calls(block, message); });
}

}  // namespace cohort
