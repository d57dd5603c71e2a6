// The chat-completions interface of OpenAI, which most servers of models speak.
#pragma once

#include <optional>
#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// How a server is told to answer with JSON; not every server knows every way.
enum class AnswerFormat { kSchema, kObject, kFree };

struct JudgeRequest {
  std::string model;
  Json messages;
  std::optional<double> temperature;  ///< the server's own default when unset
};

/// "URL/chat/completions"; `base` may end so already.
std::string chat_url(std::string base);

Json chat_body(const JudgeRequest& request, AnswerFormat format, const Json& schema);

/// Whether a reply with status 400 or 422 complains about the format of the answer and not about the request
/// as such.
bool is_format_unknown(int64_t http_status, const std::string& body);

struct ChatReply {
  std::optional<std::string> content;  ///< the message's text
  std::string failure;                 ///< why there is none
  std::optional<int64_t> num_tokens;   ///< of prompt and answer, where the server tells
};

ChatReply read_chat_reply(const std::string& body);

}  // namespace cohort
