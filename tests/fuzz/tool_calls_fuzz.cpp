// Tool calls: any text is a turn in every format, and what is read of it can be written as JSON. The first
// byte of the input chooses the format.
#include <cstdint>
#include <string_view>

#include "cohort/core/exact_json.h"
#include "cohort/text/tool_calls/format.h"
#include "libs/common/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort;
  static const std::vector<std::string> names = tool_call_format_names();
  static const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {
      "type": "object", "properties": {"a": {"type": ["integer", "null", "array"]}, "b": {"type": "number"}}}}}])");
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const AssistantMessage message =
      parse_turn(find_tool_call_format(names[data[0] % names.size()]), text, tools);
  for (const ToolCall& call : message.tool_calls) {
    COHORT_CHECK(call.error.empty() ? !call.name.empty() : true, "A call without a name has no error.");
    COHORT_CHECK(call.arguments.is_object(), "Arguments are no object.");
  }
  to_lenient_json_text(to_json(message));
  return 0;
}
