#include "cohort/rewards/judge/judge_client.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

EndpointSettings read_settings(const std::string& name, const std::string& type,
                               const JudgeServerKeys& keys) {
  constexpr double kTimeoutS = 60.0;
  const std::string where = str("reward ", name, ": ");
  if (keys.endpoint.url.empty() || keys.model.empty()) {
    throw ConfigError(str(where, "type \"", type, "\" needs ",
                          type == "judge" ? "`path`, the directory of a model, or " : "",
                          "`url`, such as https://HOST/v1, and `model`, the name that the server knows the "
                          "judge by"));
  }
  EndpointSettings settings = read_endpoint_settings(where, keys.endpoint, kTimeoutS);
  settings.url = chat_url(settings.url);
  settings.requests_per_minute = keys.requests_per_minute;
  settings.tokens_per_minute = keys.tokens_per_minute;
  return settings;
}

/// About how many tokens a request and its answer take, before the server tells.
int64_t estimate_tokens(const std::string& request) {
  constexpr int64_t kBytesPerToken = 4, kAnswerTokens = 256;
  return static_cast<int64_t>(request.size()) / kBytesPerToken + kAnswerTokens;
}

}  // namespace

JudgeClient::JudgeClient(const std::string& name, const std::string& type, const JudgeServerKeys& keys,
                         std::unique_ptr<HttpTransport> transport, Clock& clock)
    : endpoint_(read_settings(name, type, keys), std::move(transport), clock),
      url_(chat_url(keys.endpoint.url)),
      model_(keys.model),
      temperature_(keys.temperature),
      num_workers_(keys.workers.value_or(8)) {
  if (!keys.cache_dir.empty())
    cache_ = std::make_unique<ResponseCache>(keys.cache_dir, str("reward ", name, ": "));
}

JudgeVote JudgeClient::vote(const JudgeQuestion& question, int64_t index, RewardStatus& status) {
  status = RewardStatus::kOk;
  std::string message;
  if (!cache_) return ask(question, status, message);
  Json request = {{"url", url_}, {"model", model_}, {"messages", question.messages}, {"vote", index}};
  if (temperature_) request["temperature"] = *temperature_;
  if (const auto cached = cache_->find(request)) {
    JudgeVote known = question.read(*cached);
    if (!known.scores.empty()) return known;
  }
  JudgeVote given = ask(question, status, message);
  // Only what can be used: a bad answer would be one for ever.
  if (!given.scores.empty()) cache_->store(request, endpoint_.without_key(message));
  return given;
}

JudgeVote JudgeClient::ask(const JudgeQuestion& question, RewardStatus& status, std::string& message) {
  const Endpoint::Answer answer = post(question);
  status = answer.status;
  if (status != RewardStatus::kOk) return {{}, answer.reason};
  const ChatReply reply = read_chat_reply(answer.body);
  if (reply.num_tokens) endpoint_.settle(answer, *reply.num_tokens);
  status = RewardStatus::kError;
  if (!reply.content) return {{}, reply.failure};
  message = *reply.content;
  JudgeVote given = question.read(message);
  if (!given.scores.empty()) status = RewardStatus::kOk;
  return given;
}

/// Asks for JSON by a schema, and less strictly for good where the server knows no such thing.
Endpoint::Answer JudgeClient::post(const JudgeQuestion& question) {
  while (true) {
    const AnswerFormat format = format_;
    const std::string body =
        to_json_text(chat_body({model_, question.messages, temperature_}, format, question.schema));
    Endpoint::Answer answer = endpoint_.post(endpoint_.next_id(), body, estimate_tokens(body));
    if (format == AnswerFormat::kFree || !is_format_unknown(answer.http_status, answer.body)) return answer;
    const AnswerFormat next = format == AnswerFormat::kSchema ? AnswerFormat::kObject : AnswerFormat::kFree;
    AnswerFormat expected = format;
    if (format_.compare_exchange_strong(expected, next)) {
      log_info("judge ", model_, ": the server refuses ",
               format == AnswerFormat::kSchema ? "json_schema; json_object is asked for"
                                               : "json_object; plain text is asked for");
    }
  }
}

}  // namespace cohort
