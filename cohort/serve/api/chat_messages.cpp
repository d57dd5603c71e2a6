#include "cohort/serve/api/chat_messages.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json_depth.h"
#include "cohort/serve/api/api_error.h"

namespace cohort {
namespace {

std::string text_of(const Json& object, const char* name, const char* where) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string())
    throw ApiError(str("\"", where, "\": the string \"", name, "\" is missing"), where);
  return found->get<std::string>();
}

/// A list of text parts as one text. `types` are those that hold a text.
std::string joined_text(const Json& content, std::initializer_list<const char*> types, const char* where) {
  if (content.is_string()) return content.get<std::string>();
  if (content.is_null()) return {};
  if (!content.is_array())
    throw ApiError(str("\"", where, "\": a content must be a string or a list of text parts"), where);
  std::string joined;
  for (const Json& part : content) {
    const std::string type = part.is_object() ? part.value("type", Json("")).dump() : std::string("no type");
    const bool is_text = std::any_of(types.begin(), types.end(),
                                     [&](const char* name) { return type == str('"', name, '"'); });
    if (!is_text)
      throw ApiError(str("\"", where, "\": a part of type ", type, " is not supported; only text is"), where);
    if (!joined.empty()) joined += '\n';
    joined += text_of(part, "text", where);
  }
  return joined;
}

/// Arguments that an API writes as JSON text, as the object that templates read. A text that is none stays.
Json arguments_of(const Json& arguments) {
  if (!arguments.is_string()) return arguments;
  const auto& text = arguments.get_ref<const std::string&>();
  if (json_too_deep_at(text, 64) != std::string::npos) return arguments;
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() ? parsed : arguments;
}

Json template_call(const Json& call, std::map<std::string, std::string>& names) {
  const auto function = call.is_object() ? call.find("function") : call.end();
  if (!call.is_object() || function == call.end() || !function->is_object())
    throw ApiError("\"messages\": an entry of \"tool_calls\" must have a \"function\"", "messages");
  const std::string name = text_of(*function, "name", "messages");
  Json result = {
      {"type", "function"},
      {"function",
       {{"name", name}, {"arguments", arguments_of(function->value("arguments", Json::object()))}}}};
  if (const auto id = call.find("id"); id != call.end() && id->is_string()) {
    result["id"] = *id;
    names[id->get<std::string>()] = name;
  }
  return result;
}

}  // namespace

Json template_messages(const Json& messages) {
  constexpr const char* kWhere = "messages";
  if (!messages.is_array() || messages.empty())
    throw ApiError("\"messages\" must be a list of messages", kWhere);
  std::map<std::string, std::string> names;  // of called tools, by the ids of the calls
  Json result = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) throw ApiError("\"messages\": a message must be an object", kWhere);
    std::string role = text_of(message, "role", kWhere);
    if (role == "developer") role = "system";
    if (role != "system" && role != "user" && role != "assistant" && role != "tool")
      throw ApiError(
          str("\"messages\": unknown role ", to_json_text(role), "; use system, user, assistant or tool"),
          kWhere);
    Json read = {{"role", role},
                 {"content", joined_text(message.value("content", Json()), {"text"}, kWhere)}};
    if (const auto name = message.find("name"); name != message.end() && name->is_string())
      read["name"] = *name;
    if (role == "assistant") {
      if (const auto reasoning = message.find("reasoning_content");
          reasoning != message.end() && reasoning->is_string() && *reasoning != "")
        read["reasoning_content"] = *reasoning;
      if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array()) {
        for (const Json& call : *calls) read["tool_calls"].push_back(template_call(call, names));
      }
    } else if (role == "tool") {
      const auto id = message.find("tool_call_id");
      if (id != message.end() && id->is_string()) {
        read["tool_call_id"] = *id;
        if (const auto name = names.find(id->get<std::string>()); name != names.end())
          read["name"] = name->second;
      }
    }
    result.push_back(std::move(read));
  }
  return result;
}

namespace {

/// Appends what the blocks of one message of Anthropic's hold.
void add_blocks(const std::string& role, const Json& content, Json& result) {
  constexpr const char* kWhere = "messages";
  if (content.is_string()) {
    result.push_back({{"role", role}, {"content", content}});
    return;
  }
  if (!content.is_array())
    throw ApiError("\"messages\": a content must be a string or a list of blocks", kWhere);
  Json texts = Json::array(), calls = Json::array();
  std::string reasoning;
  for (const Json& block : content) {
    const std::string type = block.is_object() ? text_of(block, "type", kWhere) : "";
    if (type == "text") {
      texts.push_back({{"type", "text"}, {"text", text_of(block, "text", kWhere)}});
    } else if (type == "thinking" && role == "assistant") {
      reasoning += text_of(block, "thinking", kWhere);
    } else if (type == "tool_use" && role == "assistant") {
      calls.push_back({{"id", text_of(block, "id", kWhere)},
                       {"type", "function"},
                       {"function",
                        {{"name", text_of(block, "name", kWhere)},
                         {"arguments", block.value("input", Json::object())}}}});
    } else if (type == "tool_result" && role == "user") {
      result.push_back({{"role", "tool"},
                        {"tool_call_id", text_of(block, "tool_use_id", kWhere)},
                        {"content", joined_text(block.value("content", Json()), {"text"}, kWhere)}});
    } else {
      throw ApiError(str("\"messages\": a block of type ", to_json_text(type),
                         " is not supported in a message of ", role),
                     kWhere);
    }
  }
  if (texts.empty() && calls.empty() && role == "user") return;  // results of tools alone
  Json message = {{"role", role}, {"content", std::move(texts)}};
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  result.push_back(std::move(message));
}

}  // namespace

Json messages_of_blocks(const Json& system, const Json& messages) {
  if (!messages.is_array() || messages.empty())
    throw ApiError("\"messages\" must be a list of messages", "messages");
  Json result = Json::array();
  if (const std::string text = joined_text(system, {"text"}, "system"); !text.empty())
    result.push_back({{"role", "system"}, {"content", text}});
  for (const Json& message : messages) {
    const std::string role = message.is_object() ? text_of(message, "role", "messages") : "";
    if (role != "user" && role != "assistant")
      throw ApiError(str("\"messages\": unknown role ", to_json_text(role),
                         "; use user or assistant, and \"system\" for "
                         "the system's text"),
                     "messages");
    add_blocks(role, message.value("content", Json()), result);
  }
  if (result.empty()) throw ApiError("\"messages\" holds no text", "messages");
  return template_messages(result);
}

Json messages_of_items(const Json& instructions, const Json& input) {
  constexpr const char* kWhere = "input";
  Json result = Json::array();
  if (const std::string text = joined_text(instructions, {"input_text", "text"}, "instructions");
      !text.empty())
    result.push_back({{"role", "system"}, {"content", text}});
  if (input.is_string()) {
    result.push_back({{"role", "user"}, {"content", input}});
    return template_messages(result);
  }
  if (!input.is_array() || input.empty())
    throw ApiError("\"input\" must be a string or a list of items", kWhere);
  std::string reasoning;  // that the next item of the assistant follows
  const auto assistant = [&]() -> Json& {
    if (result.empty() || result.back().at("role") != "assistant" || !reasoning.empty())
      result.push_back({{"role", "assistant"}, {"content", ""}});
    if (!reasoning.empty()) result.back()["reasoning_content"] = std::exchange(reasoning, {});
    return result.back();
  };
  for (const Json& item : input) {
    if (!item.is_object()) throw ApiError("\"input\": an item must be an object", kWhere);
    const std::string type = item.contains("type") ? text_of(item, "type", kWhere) : "message";
    if (type == "message") {
      const std::string role = text_of(item, "role", kWhere);
      const std::string text =
          joined_text(item.value("content", Json()), {"input_text", "output_text", "text"}, kWhere);
      if (role == "assistant") {
        Json& message = assistant();
        message["content"] = message["content"].get<std::string>() + text;
      } else {
        result.push_back({{"role", role}, {"content", text}});
      }
    } else if (type == "function_call") {
      assistant()["tool_calls"].push_back(
          {{"id", text_of(item, "call_id", kWhere)},
           {"type", "function"},
           {"function",
            {{"name", text_of(item, "name", kWhere)}, {"arguments", text_of(item, "arguments", kWhere)}}}});
    } else if (type == "function_call_output") {
      result.push_back(
          {{"role", "tool"},
           {"tool_call_id", text_of(item, "call_id", kWhere)},
           {"content", joined_text(item.value("output", Json()), {"input_text", "output_text"}, kWhere)}});
    } else if (type == "reasoning") {
      reasoning = joined_text(item.value("content", Json()), {"reasoning_text"}, kWhere);
    } else {
      throw ApiError(str("\"input\": an item of type ", to_json_text(type), " is not supported"), kWhere);
    }
  }
  return template_messages(result);
}

}  // namespace cohort
