#include "cohort/rewards/judge/chat_api.h"

#include "cohort/core/json_depth.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

/// A member of an object; null where there is none.
Json member(const Json& value, const char* key) {
  const auto found = value.is_object() ? value.find(key) : value.end();
  return value.is_object() && found != value.end() ? *found : Json();
}

/// A string, or a list of parts of which the texts count.
std::optional<std::string> content_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return std::nullopt;
  std::string text;
  for (const Json& part : content) {
    const Json piece = member(part, "text");
    if (piece.is_string()) text += piece.get<std::string>();
  }
  return text;
}

}  // namespace

std::string chat_url(std::string base) {
  constexpr std::string_view kPath = "/chat/completions";
  while (base.ends_with('/')) base.pop_back();
  return base.ends_with(kPath) ? base : base.append(kPath);
}

Json chat_body(const JudgeRequest& request, AnswerFormat format, const Json& schema) {
  Json body = {{"model", request.model}, {"messages", request.messages}};
  if (request.temperature) body["temperature"] = *request.temperature;
  if (format == AnswerFormat::kObject) body["response_format"] = {{"type", "json_object"}};
  if (format == AnswerFormat::kSchema) {
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "scores"}, {"strict", true}, {"schema", schema}}}};
  }
  return body;
}

bool is_format_unknown(int64_t http_status, const std::string& body) {
  if (http_status != 400 && http_status != 422) return false;
  for (const char* word : {"response_format", "json_schema", "json_object"}) {
    if (body.find(word) != std::string::npos) return true;
  }
  return false;
}

ChatReply read_chat_reply(const std::string& body) {
  constexpr int kMaxDepth = 64;
  ChatReply reply;
  const bool is_deep = json_too_deep_at(body, kMaxDepth) != std::string::npos;
  const Json value = is_deep ? Json(Json::value_t::discarded) : Json::parse(body, nullptr, false);
  const Json usage = member(member(value, "usage"), "total_tokens");
  if (usage.is_number_unsigned()) reply.num_tokens = usage.get<int64_t>();
  const Json choices = member(value, "choices");
  if (!choices.is_array() || choices.empty()) {
    reply.failure = "the reply is no chat completion: " + excerpt(body);
    return reply;
  }
  reply.content = content_text(member(member(choices[0], "message"), "content"));
  if (!reply.content) reply.failure = "the reply's message has no text";
  const Json finish_reason = member(choices[0], "finish_reason");
  if (finish_reason == "length" || finish_reason == "content_filter") {
    reply.content.reset();
    reply.failure = "the server cut the judge's message off: " + finish_reason.get<std::string>();
  }
  return reply;
}

}  // namespace cohort
