// What the assistant says in one turn: text, reasoning and calls of tools.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// One call of a tool, or the attempt at one.
struct ToolCall {
  std::string name;                 ///< empty if the text names no tool
  Json arguments = Json::object();  ///< by parameter name
  std::string id{};                 ///< as the model wrote it; empty in formats without ids
  std::string error{};              ///< why the call cannot be read; empty if it can. One line, for the model
};

struct AssistantMessage {
  std::string content;
  std::string reasoning_content{};
  std::vector<ToolCall> tool_calls{};  ///< in the order of the text
};

/// The message as chat templates and rewards read it: {"role", "content"}, with "reasoning_content" and
/// "tool_calls" ({"type": "function", "function": {"name", "arguments"}}, and "id" if there is one) where it
/// has them. Calls with an error are left out; the text of such a call is not in the content.
Json to_json(const AssistantMessage& message);

}  // namespace cohort
