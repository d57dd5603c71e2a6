#include "cohort/text/tool_calls/format.h"

#include "cohort/core/error.h"
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

struct Line {
  ToolCallFormat format;
  std::string_view marks[2];
};

const Line kLines[] = {
#define TOOL_CALL_FORMAT(name, models, open, close, call, first, second) \
  {{#name, models, open, close, call, parse_##name}, {first, second}},
#include "cohort/text/tool_calls/formats.def"
#undef TOOL_CALL_FORMAT
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> tool_call_format_names() {
  std::vector<std::string> names;
  for (const Line& line : kLines) names.emplace_back(line.format.name);
  return names;
}

const ToolCallFormat& find_tool_call_format(const std::string& name) {
  for (const Line& line : kLines) {
    if (name == line.format.name) return line.format;
  }
  throw ConfigError(str("unknown tool call format \"", name, "\"; did you mean \"",
                        nearest_name(name, tool_call_format_names()), "\"?"));
}

const ToolCallFormat& tool_call_format_of(std::string_view chat_template) {
  for (const Line& line : kLines) {
    if (contains(chat_template, line.marks[0]) && contains(chat_template, line.marks[1])) return line.format;
  }
  throw InternalError("The last format has no marks.");
}

std::string_view take_reasoning(const ToolCallFormat& format, std::string_view text,
                                AssistantMessage& message) {
  if (format.reasoning_open.empty()) return text;
  std::string_view rest = text;
  const std::string_view front = trim(text);
  const bool is_open = front.starts_with(format.reasoning_open);
  std::optional<std::string_view> reasoning = take_until(rest, format.reasoning_close);
  if (!reasoning) {
    if (!is_open) return text;
    reasoning = front;  // it goes on to the end
    rest = {};
  }
  if (is_open) {
    reasoning = trim(*reasoning).substr(std::min(trim(*reasoning).size(), format.reasoning_open.size()));
  } else if (contains(*reasoning, format.reasoning_open)) {
    return text;  // it is opened in the middle: the model's own text
  }
  message.reasoning_content = trim(*reasoning);
  return rest.substr(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
}

AssistantMessage parse_turn(const ToolCallFormat& format, std::string_view text, const Json& tools) {
  AssistantMessage message;
  format.parse(take_reasoning(format, text, message), tools, message);
  return message;
}

Json to_json(const AssistantMessage& message) {
  Json result = {{"role", "assistant"}, {"content", message.content}};
  if (!message.reasoning_content.empty()) result["reasoning_content"] = message.reasoning_content;
  Json calls = Json::array();
  for (const ToolCall& call : message.tool_calls) {
    if (!call.error.empty()) continue;
    Json entry = {{"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
    if (!call.id.empty()) entry["id"] = call.id;
    calls.push_back(std::move(entry));
  }
  if (!calls.empty()) result["tool_calls"] = std::move(calls);
  return result;
}

}  // namespace cohort
