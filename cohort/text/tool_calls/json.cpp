// A turn that is one JSON object {"name": ..., "arguments": {...}}, or a list of them, alone or in a code
// block.
#include "cohort/text/tool_calls/bare_json.h"
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

std::string_view without_fence(std::string_view text) {
  if (!text.starts_with("```") || !text.ends_with("```") || text.size() < 6) return text;
  const size_t line = std::min(text.find('\n'), text.size() - 3);
  return trim(text.substr(line, text.size() - 3 - line));
}

}  // namespace

void parse_json(std::string_view text, const Json&, AssistantMessage& message) {
  const std::string_view body = without_fence(trim(text));
  const std::string_view first = body.starts_with('[') ? trim(body.substr(1)) : body;
  if (begins_as_call(first)) {
    add_json_calls(body, message);
  } else {
    message.content += text;
  }
}

}  // namespace cohort
