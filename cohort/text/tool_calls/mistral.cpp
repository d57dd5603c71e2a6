// [TOOL_CALLS][{"name": ..., "arguments": {...}, "id": ...}], or since 2025
// [TOOL_CALLS]name[CALL_ID]id[ARGS]{...}, once for each call.
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

constexpr std::string_view kMark = "[TOOL_CALLS]";

ToolCall read_named_call(std::string_view text) {
  auto head = take_until(text, "[ARGS]");
  if (!head) {
    const size_t brace = std::min(text.find('{'), text.size());
    head = text.substr(0, brace);
    text.remove_prefix(brace);
  }
  std::string_view id = *head;
  const auto name = take_until(id, "[CALL_ID]");
  ToolCall call = call_with_arguments(name.value_or(*head), text);
  if (name) call.id = std::string(trim(id));
  return call;
}

}  // namespace

void parse_mistral(std::string_view text, const Json&, AssistantMessage& message) {
  const auto before = take_until(text, kMark);
  if (!before) {
    message.content += text;
    return;
  }
  message.content += trim(*before);
  while (true) {
    const auto next = take_until(text, kMark);
    const std::string_view calls = trim(next.value_or(text));
    if (calls.starts_with('[') || calls.starts_with('{')) {
      add_json_calls(calls, message);
    } else {
      message.tool_calls.push_back(read_named_call(calls));
    }
    if (!next) return;
  }
}

}  // namespace cohort
