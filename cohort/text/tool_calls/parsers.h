// One parser for each line of formats.def, and code that they share. Private to tool_calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/text/tool_calls/message.h"

namespace cohort {

#define TOOL_CALL_FORMAT(name, ...) \
  void parse_##name(std::string_view text, const Json& tools, AssistantMessage& message);
#include "cohort/text/tool_calls/formats.def"
#undef TOOL_CALL_FORMAT

/// A text between two marks, and whether the second one is there.
struct Block {
  std::string_view text;
  bool is_closed;
};

/// Calls f for each text between `open` and `close`, appends the text around these blocks to the content and
/// trims it. A block without its end goes on to the end of the text.
void take_blocks(std::string_view text, std::string_view open, std::string_view close,
                 AssistantMessage& message, const std::function<void(Block block)>& f);

/// The same for blocks that must end: f gets their texts, and one without its end becomes an unfinished call.
void read_blocks(std::string_view text, std::string_view open, std::string_view close,
                 AssistantMessage& message, const std::function<void(std::string_view text)>& f);

/// Removes `text` up to and including `mark` and returns what stood before it; nothing if it has no such
/// mark.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark);

/// A call that cannot be read.
ToolCall broken_call(std::string error, std::string name = {});

/// A call that begins and does not end.
ToolCall unfinished_call(std::string_view close, std::string name = {});

/// The value of JSON text; `fault` says what is wrong with it, and where.
std::optional<Json> read_json_text(std::string_view text, std::string& fault);

/// A call from {"name": ..., "arguments": {...}}; "parameters" counts as "arguments", and the object may be
/// the "function" of another one, which may have the "id".
ToolCall call_from_json(const Json& value);

/// Adds the call, or the list of calls, of a JSON text.
void add_json_calls(std::string_view text, AssistantMessage& message);

/// A call with arguments given as one JSON object. An empty text has none.
ToolCall call_with_arguments(std::string_view name, std::string_view arguments);

/// An argument that is written as plain text, as the type that the schema of tool `name` gives its
/// `parameter`. A text that does not have this type stays a string, and so does everything without a schema.
Json typed_argument(std::string_view text, const Json& tools, std::string_view name,
                    std::string_view parameter);

/// Adds an argument; a repeated one is an error.
void add_argument(ToolCall& call, std::string_view key, Json value);

}  // namespace cohort
