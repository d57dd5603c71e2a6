#include "cohort/env/tool_processes.h"

#include <cmath>
#include <set>
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/env/environment.h"
#include "cohort/rewards/batch_protocol.h"
#include "cohort/rewards/child_process.h"
#include "libs/common/excerpt.h"

namespace cohort {

struct ToolProcesses::Copy {
  std::mutex mutex;
  std::unique_ptr<ChildProcess> process;
  std::set<int64_t> episodes;  // that the process knows
  int64_t num_requests = 0;
};

ToolProcesses::ToolProcesses(std::vector<std::string> command, int64_t num_copies, double timeout_s)
    : command_(std::move(command)), timeout_s_(timeout_s) {
  for (int64_t i = 0; i < num_copies; ++i) copies_.push_back(std::make_unique<Copy>());
  describe();
}

ToolProcesses::~ToolProcesses() {
  for (const auto& copy : copies_) {
    if (copy->process != nullptr) copy->process->end_input();  // so that their half seconds run together
  }
}

void ToolProcesses::describe() {
  Json answer;
  try {
    answer = exchange(*copies_.front(), {{"op", "describe"}});
  } catch (const EnvironmentFailure& failure) {
    throw ConfigError(failure.what());
  }
  tools_ = answer.value("tools", Json());
  bool is_understood = tools_.is_array();
  const auto read = [&](const char* name) {
    const Json value = answer.value(name, Json(false));
    is_understood &= value.is_boolean();
    return value == true;
  };
  has_episodes_ = read("episodes");
  gives_rewards_ = read("gives_rewards");
  gives_turn_rewards_ = read("gives_turn_rewards");
  gives_states_ = read("gives_states");
  if (!is_understood) {
    throw ConfigError(str(command_.front(),
                          " must answer \"describe\" with a list \"tools\", and with \"episodes\", ",
                          "\"gives_rewards\", \"gives_turn_rewards\" and \"gives_states\" true or false"));
  }
  if ((gives_turn_rewards_ || gives_states_) && !has_episodes_) {
    throw ConfigError(str(command_.front(),
                          " gives rewards of turns or states, which belong to episodes: it must answer "
                          "\"describe\" with \"episodes\": true"));
  }
}

double ToolProcesses::reward_in(const Json& answer) const {
  const Json reward = answer.value("reward", Json());
  if (reward.is_null()) return kNoReward;
  if (!gives_turn_rewards_)
    throw EnvironmentFailure("the environment answered a \"reward\" without \"gives_turn_rewards\": true");
  if (!reward.is_number() || !std::isfinite(reward.get<double>()))
    throw EnvironmentFailure("the environment's \"reward\" is no finite number");
  return reward.get<double>();
}

std::optional<int64_t> ToolProcesses::state_in(const Json& answer) const {
  const Json state = answer.value("state", Json());
  if (state.is_null() && !gives_states_) return std::nullopt;
  if (!gives_states_)
    throw EnvironmentFailure("the environment answered a \"state\" without \"gives_states\": true");
  if (!state.is_string()) throw EnvironmentFailure("the environment's answer has no text as its \"state\"");
  return state_number(state.get<std::string>());
}

Json ToolProcesses::ask(int64_t episode, Json request) {
  Copy& copy = *copies_[episode % std::ssize(copies_)];
  const std::lock_guard lock(copy.mutex);
  const std::string op = request.at("op").get<std::string>();
  if (has_episodes_ && op != "begin" && !copy.episodes.contains(episode)) {
    if (op == "end") return Json::object();
    throw EnvironmentFailure("the environment's process failed in another episode and lost this one");
  }
  request["episode"] = episode;
  Json answer = exchange(copy, request);
  if (op == "begin") copy.episodes.insert(episode);
  if (op == "end") copy.episodes.erase(episode);
  return answer;
}

Json ToolProcesses::exchange(Copy& copy, const Json& request) {
  const auto fail = [&](const std::string& text) -> Json {
    copy.process.reset();
    copy.episodes.clear();
    throw EnvironmentFailure(text);
  };
  if (copy.process != nullptr && !copy.process->is_ready()) {
    copy.process.reset();
    copy.episodes.clear();
  }
  if (copy.process == nullptr) {
    try {
      copy.process = std::make_unique<ChildProcess>(command_);
    } catch (const std::system_error& error) {
      throw EnvironmentFailure(str("the environment's process cannot be started: ", error.what()));
    }
  }
  Json line = request;
  line["id"] = ++copy.num_requests;
  const auto deadline =
      ChildProcess::Clock::now() +
      std::chrono::duration_cast<ChildProcess::Clock::duration>(std::chrono::duration<double>(timeout_s_));
  const ChildProcess::Reply reply =
      copy.process->exchange(to_lenient_json_text(line), deadline, kMaxReplyBytes);
  if (reply.status == ChildProcess::Status::kTimeout)
    return fail(str("the environment did not answer within ", timeout_s_, " s"));
  if (reply.status != ChildProcess::Status::kOk) return fail("the environment's process: " + reply.text);
  Json answer = parse_exact_json(reply.text);
  if (!answer.is_object() || answer.value("id", Json()) != line["id"])
    return fail("the environment's process wrote " + excerpt(reply.text) + ", which answers no request");
  if (const auto error = answer.find("error"); error != answer.end())
    throw EnvironmentFailure(error->is_string() ? error->get<std::string>() : to_lenient_json_text(*error));
  return answer;
}

}  // namespace cohort
