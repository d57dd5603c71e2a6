// Tool calls out of the text of a turn, in the form that a model's chat template teaches it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/tool_calls/message.h"

namespace cohort {

/// A line of formats.def.
struct ToolCallFormat {
  const char* name;
  const char* models;
  std::string_view reasoning_open;  ///< empty: the form has no reasoning of its own
  std::string_view reasoning_close;
  std::string_view call_open;  ///< what a call begins with; empty: a call is the whole turn, as JSON
  /// Appends the calls in `text` to the message, and what surrounds them to its content.
  void (*parse)(std::string_view text, const Json& tools, AssistantMessage& message);
};

/// The names of all formats, in the order of formats.def.
std::vector<std::string> tool_call_format_names();

/// Throws ConfigError for an unknown name, with the nearest known one.
const ToolCallFormat& find_tool_call_format(const std::string& name);

/// The format of a chat template's source; `json` if the template has the marks of none.
const ToolCallFormat& tool_call_format_of(std::string_view chat_template);

/// Moves the reasoning at the front of a turn's text into the message and returns the rest. The prompt may
/// have opened it.
std::string_view take_reasoning(const ToolCallFormat& format, std::string_view text,
                                AssistantMessage& message);

/// Reads one turn. `text` has its special tokens and not the stop token. `tools` are the JSON schemas that
/// the prompt named, or null: where a form writes arguments as plain text, the schema gives their type. A
/// text that begins a call and breaks off, or a call that is malformed, becomes a call with an error.
AssistantMessage parse_turn(const ToolCallFormat& format, std::string_view text, const Json& tools);

}  // namespace cohort
