#include "cohort/rewards/judge_reward.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "cohort/core/log.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;

std::string where_of(const RewardConfig& config) { return str("reward ", config.name, ": "); }

EndpointSettings read_settings(const RewardConfig& config) {
  constexpr double kTimeoutS = 60.0;
  if (config.url.empty() || config.model.empty()) {
    throw ConfigError(str(where_of(config),
                          "type \"judge\" needs `url`, such as https://HOST/v1, and `model`, the name "
                          "that the server knows the judge by"));
  }
  EndpointSettings settings = read_endpoint_settings(config, kTimeoutS);
  settings.url = chat_url(settings.url);
  return settings;
}

JudgeScale read_scale(const RewardConfig& config) {
  JudgeScale scale{config.criteria, config.max_score.value_or(10)};
  if (scale.criteria.empty()) scale.criteria = {"quality"};
  std::set<std::string> names;
  for (const std::string& name : scale.criteria) {
    const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' ';
    });
    if (!is_plain || name == "reason" || !names.insert(name).second) {
      throw ConfigError(
          str(where_of(config), "`criteria`: ", excerpt(name),
              " must be a name of letters, digits, blanks, _ and -, given once, and not \"reason\""));
    }
  }
  return scale;
}

/// About how many tokens a request and its answer take, before the server tells.
int64_t estimate_tokens(const std::string& request) {
  constexpr int64_t kBytesPerToken = 4, kAnswerTokens = 256;
  return static_cast<int64_t>(request.size()) / kBytesPerToken + kAnswerTokens;
}

}  // namespace

JudgeReward::JudgeReward(const RewardConfig& config, std::unique_ptr<HttpTransport> transport, Clock& clock)
    : endpoint_(read_settings(config), std::move(transport), clock),
      prompt_(config.rubric, read_scale(config), where_of(config)),
      schema_(judge_answer_schema(prompt_.scale())),
      url_(chat_url(config.url)),
      model_(config.model),
      temperature_(config.temperature),
      num_votes_(config.votes.value_or(1)),
      num_workers_(config.workers.value_or(8)) {
  if (!config.cache_dir.empty()) cache_ = std::make_unique<ResponseCache>(config.cache_dir, where_of(config));
}

RewardResult JudgeReward::score(const Prompt& prompt, const Completion& completion) {
  if (const auto missing = prompt_.missing_column(prompt))
    return {0.0, RewardStatus::kUnparsed,
            str(prompt.id, ": the row has no column \"", *missing, "\" of the rubric")};
  if (completion.text.size() > kMaxTextBytes) {
    return {0.0, RewardStatus::kUnparsed,
            str(prompt.id, ": the completion has more than ", kMaxTextBytes, " bytes, too many for a judge")};
  }
  RewardResult result = count(prompt.id, hold(prompt_.messages(prompt, completion)));
  result.detail = endpoint_.without_key(std::move(result.detail));
  return result;
}

/// Votes one after another, until they are all there or too many failed.
JudgeReward::Ballot JudgeReward::hold(const Json& messages) {
  Ballot ballot;
  ballot.is_late = true;
  for (int64_t i = 0; i < num_votes_; ++i) {
    RewardStatus status = RewardStatus::kOk;
    JudgeVote given = vote(messages, i, status);
    if (!given.scores.empty()) {
      ballot.valid.push_back(std::move(given));
      continue;
    }
    ballot.failures.push_back(std::move(given.failure));
    ballot.is_late &= status == RewardStatus::kTimeout;
    if (2 * std::ssize(ballot.failures) > num_votes_) break;
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

RewardResult JudgeReward::count(const std::string& prompt_id, const Ballot& ballot) const {
  const JudgeScale& scale = prompt_.scale();
  if (2 * std::ssize(ballot.valid) < num_votes_) {
    const RewardStatus status = ballot.is_late ? RewardStatus::kTimeout : RewardStatus::kError;
    return {
        0.0, status,
        str(prompt_id, ": ", ballot.valid.size(), " of ", num_votes_, " votes: ", ballot.failures.front())};
  }
  double total = 0.0;
  Json scores = Json::object();
  for (size_t i = 0; i < scale.criteria.size(); ++i) {
    Json& given = scores[scale.criteria[i]] = Json::array();
    for (const JudgeVote& vote : ballot.valid) {
      given.push_back(vote.scores[i]);
      total += vote.scores[i];
    }
  }
  const auto num_scores = static_cast<double>(scale.criteria.size() * ballot.valid.size());
  Json detail = {{"scores", std::move(scores)}};
  if (!ballot.failures.empty()) detail["failed_votes"] = ballot.failures;
  return {total / num_scores / static_cast<double>(scale.max_score), RewardStatus::kOk, to_json_text(detail)};
}

std::unique_ptr<Reward> make_judge_reward(const RewardConfig& config) {
  return std::make_unique<JudgeReward>(config);
}

}  // namespace cohort
