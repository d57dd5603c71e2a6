#include "cohort/tasks/content_parts.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// Types that hold text. Templates that loop over parts may know the others than "text".
constexpr const char* kTextTypes[] = {"text",    "input_text", "output_text",
                                      "refusal", "thinking",   "reasoning"};

std::string text_of(const Json& part) {
  if (part.is_string()) return part.get<std::string>();
  const auto text = part.is_object() ? part.find("text") : part.end();
  if (!part.is_object() || text == part.end() || !text->is_string()) {
    throw UserError(
        "the content of a message is a list, and a part of it has no string \"text\"; the chat template "
        "takes "
        "strings, so give each part as {\"type\": \"text\", \"text\": ...}");
  }
  return text->get<std::string>();
}

}  // namespace

std::optional<std::string> find_other_part(const Json& content) {
  if (!content.is_array()) return std::nullopt;
  for (const Json& part : content) {
    const Json type = part.is_object() ? part.value("type", Json("text")) : Json("text");
    if (std::find(std::begin(kTextTypes), std::end(kTextTypes), type) == std::end(kTextTypes))
      return "a part of type " + to_json_text(type);
  }
  return std::nullopt;
}

Json with_joined_parts(const Json& messages) {
  Json joined = messages;
  if (!joined.is_array()) return joined;
  for (Json& message : joined) {
    const bool has_parts =
        message.is_object() && message.contains("content") && message.at("content").is_array();
    if (!has_parts) continue;
    std::string text;
    for (const Json& part : message.at("content")) text += (text.empty() ? "" : "\n") + text_of(part);
    message["content"] = text;
  }
  return joined;
}

}  // namespace cohort
