#include "cohort/rewards/judge_reward.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

std::string where_of(const std::string& name) { return str("reward ", name, ": "); }

EndpointSettings read_settings(const std::string& name, const JudgeKeys& keys) {
  constexpr double kTimeoutS = 60.0;
  if (keys.endpoint.url.empty() || keys.model.empty()) {
    throw ConfigError(str(where_of(name),
                          "type \"judge\" needs `path`, the directory of a model, or `url`, such as "
                          "https://HOST/v1, and `model`, the name that the server knows the judge by"));
  }
  EndpointSettings settings = read_endpoint_settings(str("reward ", name, ": "), keys.endpoint, kTimeoutS);
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

JudgeReward::JudgeReward(const std::string& name, const JudgeKeys& keys,
                         std::unique_ptr<HttpTransport> transport, Clock& clock)
    : endpoint_(read_settings(name, keys), std::move(transport), clock),
      prompt_(keys.rubric, read_judge_scale(keys, where_of(name)), where_of(name)),
      schema_(judge_answer_schema(prompt_.scale())),
      url_(chat_url(keys.endpoint.url)),
      model_(keys.model),
      temperature_(keys.temperature),
      num_votes_(keys.votes.value_or(1)),
      num_workers_(keys.workers.value_or(8)) {
  if (!keys.cache_dir.empty()) cache_ = std::make_unique<ResponseCache>(keys.cache_dir, where_of(name));
}

RewardResult JudgeReward::score(const Prompt& prompt, const Completion& completion) {
  if (const auto reason = prompt_.refusal(prompt, completion))
    return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": ", *reason)};
  RewardResult result = hold(prompt_.messages(prompt, completion)).result(prompt_.scale(), prompt.id);
  result.detail = endpoint_.without_key(std::move(result.detail));
  return result;
}

/// Votes one after another, until they are all there or too many failed.
Ballot JudgeReward::hold(const Json& messages) {
  Ballot ballot(num_votes_);
  for (int64_t i = 0; i < num_votes_ && !ballot.is_lost(); ++i) {
    RewardStatus status = RewardStatus::kOk;
    JudgeVote given = vote(messages, i, status);
    ballot.add(std::move(given), status);
  }
  return ballot;
}

JudgeVote JudgeReward::vote(const Json& messages, int64_t index, RewardStatus& status) {
  std::string message;
  if (!cache_) return ask(messages, status, message);
  Json request = {{"url", url_}, {"model", model_}, {"messages", messages}, {"vote", index}};
  if (temperature_) request["temperature"] = *temperature_;
  if (const auto cached = cache_->find(request)) {
    JudgeVote known = read_judge_vote(*cached, prompt_.scale());
    if (!known.scores.empty()) return known;
  }
  JudgeVote given = ask(messages, status, message);
  // Only what can be used: a bad answer would be one for ever.
  if (!given.scores.empty()) cache_->store(request, endpoint_.without_key(message));
  return given;
}

JudgeVote JudgeReward::ask(const Json& messages, RewardStatus& status, std::string& message) {
  const Endpoint::Answer answer = post(messages);
  status = answer.status;
  if (status != RewardStatus::kOk) return {{}, answer.reason};
  const ChatReply reply = read_chat_reply(answer.body);
  if (reply.num_tokens) endpoint_.settle(answer, *reply.num_tokens);
  status = RewardStatus::kError;
  if (!reply.content) return {{}, reply.failure};
  message = *reply.content;
  JudgeVote given = read_judge_vote(message, prompt_.scale());
  if (!given.scores.empty()) status = RewardStatus::kOk;
  return given;
}

/// Asks for JSON by a schema, and less strictly for good where the server knows no such thing.
Endpoint::Answer JudgeReward::post(const Json& messages) {
  while (true) {
    const AnswerFormat format = format_;
    const std::string body = to_json_text(chat_body({model_, messages, temperature_}, format, schema_));
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
