// <tool_call>{"name": ..., "arguments": {...}}</tool_call>, with a list of such objects inside, too.
#include "cohort/text/tool_calls/parsers.h"

namespace cohort {

void parse_hermes(std::string_view text, const Json&, AssistantMessage& message) {
  take_blocks(text, "<tool_call>", "</tool_call>", message, [&](Block block) {
    if (block.is_closed) {
      add_json_calls(block.text, message);
    } else {
      message.tool_calls.push_back(unfinished_call("</tool_call>"));
    }
  });
}

}  // namespace cohort
