#include "cohort/text/tool_calls/parsers.h"

#include "cohort/core/exact_json.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort {

std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark) {
  const size_t place = text.find(mark);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, place);
  text.remove_prefix(place + mark.size());
  return before;
}

void take_blocks(std::string_view text, std::string_view open, std::string_view close,
                 AssistantMessage& message, const std::function<void(Block block)>& f) {
  bool has_blocks = false;
  while (const auto before = take_until(text, open)) {
    has_blocks = true;
    message.content += *before;
    const auto inside = take_until(text, close);
    f({inside.value_or(text), inside.has_value()});
    if (!inside) text = {};
  }
  message.content += text;
  if (has_blocks) message.content = std::string(trim(message.content));
}

void read_blocks(std::string_view text, std::string_view open, std::string_view close,
                 AssistantMessage& message, const std::function<void(std::string_view text)>& f) {
  take_blocks(text, open, close, message, [&](Block block) {
    if (block.is_closed) {
      f(block.text);
    } else {
      message.tool_calls.push_back(unfinished_call(close));
    }
  });
}

ToolCall broken_call(std::string error, std::string name) {
  return {.name = std::move(name), .error = std::move(error)};
}

ToolCall unfinished_call(std::string_view close, std::string name) {
  return broken_call(str("the tool call does not end with ", close), std::move(name));
}

std::optional<Json> read_json_text(std::string_view text, std::string& fault) {
  Json value = parse_exact_json(std::string(text), &fault);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

namespace {

const Json* find(const Json& object, const char* key) {
  const auto place = object.find(key);
  return place == object.end() ? nullptr : &*place;
}

std::string text_or_empty(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

ToolCall call_from_json(const Json& value) {
  if (!value.is_object())
    return broken_call("a tool call must be a JSON object with \"name\" and \"arguments\"");
  if (const Json* function = find(value, "function"); function != nullptr && function->is_object()) {
    ToolCall call = call_from_json(*function);
    if (call.id.empty()) call.id = text_or_empty(find(value, "id"));
    return call;
  }
  ToolCall call{.name = text_or_empty(find(value, "name")), .id = text_or_empty(find(value, "id"))};
  if (call.name.empty()) {
    call.error = "a tool call needs \"name\", a string";
    return call;
  }
  const Json* arguments = find(value, "arguments");
  if (arguments == nullptr) arguments = find(value, "parameters");
  if (arguments == nullptr || arguments->is_null()) return call;
  if (arguments->is_string()) {
    ToolCall inner = call_with_arguments(call.name, arguments->get_ref<const std::string&>());
    inner.id = call.id;
    return inner;
  }
  if (!arguments->is_object()) {
    call.error = "\"arguments\" of a tool call must be a JSON object";
    return call;
  }
  call.arguments = *arguments;
  return call;
}

void add_json_calls(std::string_view text, AssistantMessage& message) {
  std::string fault;
  const std::optional<Json> value = read_json_text(text, fault);
  if (!value) {
    message.tool_calls.push_back(broken_call("a tool call must be JSON: " + fault));
  } else if (value->is_array()) {
    for (const Json& call : *value) message.tool_calls.push_back(call_from_json(call));
  } else {
    message.tool_calls.push_back(call_from_json(*value));
  }
}

ToolCall call_with_arguments(std::string_view name, std::string_view arguments) {
  ToolCall call{.name = std::string(trim(name))};
  if (call.name.empty()) call.error = "a tool call needs the name of a tool";
  if (!call.error.empty() || trim(arguments).empty()) return call;
  std::string fault;
  std::optional<Json> value = read_json_text(arguments, fault);
  if (!value) {
    call.error = "the arguments of a tool call must be JSON: " + fault;
  } else if (!value->is_object()) {
    call.error = "the arguments of a tool call must be a JSON object";
  } else {
    call.arguments = *std::move(value);
  }
  return call;
}

void add_argument(ToolCall& call, std::string_view key, Json value) {
  const std::string name(key);
  if (call.arguments.contains(name) && call.error.empty())
    call.error = str("the tool call gives the argument \"", name, "\" twice");
  call.arguments[name] = std::move(value);
}

}  // namespace cohort
