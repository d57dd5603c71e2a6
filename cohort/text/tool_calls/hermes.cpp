// <tool_call>{"name": ..., "arguments": {...}}</tool_call>, with a list of such objects inside, too.
#include "cohort/text/tool_calls/parsers.h"

namespace cohort {

void parse_hermes(std::string_view text, const Json&, AssistantMessage& message) {
  read_blocks(text, "<tool_call>", "</tool_call>", message,
              [&](std::string_view block) { add_json_calls(block, message); });
}

}  // namespace cohort
