// Command: a program of the user's, in any language. It is started once and gets a line per completion,
// {"prompt": text, "completion": text, "completion_ids": [...], ...the row's columns}, and answers each with
// a line: a number, or {"reward": a number or null, "detail": text}; null skips the completion. A program
// that hangs, dies or answers anything else is killed with its process group and started anew for the next
// completion.
#include <cmath>
#include <system_error>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/child_process.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

std::string request_line(const Prompt& prompt, const Completion& completion) {
  Json request = {
      {"prompt", prompt.text}, {"completion", completion.text}, {"completion_ids", completion.token_ids}};
  for (const auto& [name, value] : prompt.fields.items()) {
    if (!request.contains(name)) request[name] = value;
  }
  // A sampled text may end inside a UTF-8 character.
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RewardResult read_answer(const std::string& line) {
  Json answer = Json::parse(line, nullptr, false);
  const Json* reward = &answer;
  std::string detail;
  if (answer.is_object()) {
    auto member = answer.find("reward");
    if (member == answer.end()) {
      return {0.0, RewardStatus::kError, str("the answer has no \"reward\": ", excerpt(line))};
    }
    reward = &*member;
    auto text = answer.find("detail");
    if (text != answer.end()) detail = text->is_string() ? text->get<std::string>() : excerpt(line);
  }
  if (reward->is_null()) return {0.0, RewardStatus::kSkipped, detail};
  if (!reward->is_number() || !std::isfinite(reward->get<double>())) {
    return {0.0, RewardStatus::kError, str("the answer is no finite JSON number: ", excerpt(line))};
  }
  return {reward->get<double>(), RewardStatus::kOk, detail};
}

class CommandReward : public Reward {
 public:
  CommandReward(std::string command, double timeout_s)
      : command_(std::move(command)), timeout_s_(timeout_s) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    RewardResult result = ask(request_line(prompt, completion));
    bool is_failure = result.status != RewardStatus::kOk && result.status != RewardStatus::kSkipped;
    if (is_failure) {
      // Whatever the program says next would belong to this completion.
      process_.reset();
      result.detail = str(prompt.id, ": ", result.detail);
    }
    return result;
  }

 private:
  RewardResult ask(const std::string& line) {
    if (process_ && !process_->is_ready()) process_.reset();
    auto timeout =
        std::chrono::duration_cast<ChildProcess::Clock::duration>(std::chrono::duration<double>(timeout_s_));
    ChildProcess::Clock::time_point deadline = ChildProcess::Clock::now() + timeout;
    try {
      if (!process_) process_ = std::make_unique<ChildProcess>(command_);
    } catch (const std::system_error& error) {
      return {0.0, RewardStatus::kError, error.what()};
    }
    ChildProcess::Reply reply = process_->exchange(line, deadline);
    switch (reply.status) {
      case ChildProcess::Status::kOk:
        return read_answer(reply.text);
      case ChildProcess::Status::kTimeout:
        return {0.0, RewardStatus::kTimeout, str("no answer within ", timeout_s_, " s")};
      default:
        return {0.0, RewardStatus::kError, reply.text};
    }
  }

  std::string command_;
  double timeout_s_;
  std::unique_ptr<ChildProcess> process_;  // none before the first completion and after a failure
};

}  // namespace

std::unique_ptr<Reward> make_command_reward(const RewardConfig& config) {
  if (config.command.empty()) {
    throw ConfigError(str("reward ", config.name, ": type \"command\" needs `command`, the program to run"));
  }
  constexpr double kDefaultTimeoutS = 10.0, kMaxTimeout = 86400.0;
  const double timeout_s = config.timeout_s.value_or(kDefaultTimeoutS);
  if (!(timeout_s > 0.0 && timeout_s <= kMaxTimeout)) {
    throw ConfigError(str("reward ", config.name, ": timeout_s = ", timeout_s,
                          " is out of range; it must be above 0 and at most ", kMaxTimeout));
  }
  return std::make_unique<CommandReward>(config.command, timeout_s);
}

}  // namespace cohort
