#include "cohort/agent/agent_processes.h"

#include <cmath>
#include <memory>
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/rewards/child_process.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

/// What a copy answered; a failure is a text. A copy that failed is gone.
AgentEnd play(std::unique_ptr<ChildProcess>& copy, const AgentConfig& config, const Json& task) {
  const auto fail = [&](const std::string& text) -> AgentEnd {
    copy.reset();
    return {.failure = text};
  };
  if (copy != nullptr && !copy->is_ready()) copy.reset();
  if (copy == nullptr) {
    try {
      copy = std::make_unique<ChildProcess>(config.command);
    } catch (const std::system_error& error) {
      return fail(str("agent.command cannot be started: ", error.what()));
    }
  }
  const auto deadline =
      ChildProcess::Clock::now() + std::chrono::duration_cast<ChildProcess::Clock::duration>(
                                       std::chrono::duration<double>(config.timeout_s));
  const ChildProcess::Reply reply = copy->exchange(to_lenient_json_text(task), deadline);
  if (reply.status == ChildProcess::Status::kTimeout)
    return fail(str("the agent did not end its episode within ", config.timeout_s, " s"));
  if (reply.status != ChildProcess::Status::kOk) return fail("the agent's process: " + reply.text);
  const Json answer = parse_exact_json(reply.text);
  if (!answer.is_object() || answer.value("id", Json()) != task["id"])
    return fail("the agent's process wrote " + excerpt(reply.text) + ", which answers no task");
  if (const auto error = answer.find("error"); error != answer.end())
    return {.failure = error->is_string() ? error->get<std::string>() : to_lenient_json_text(*error)};
  const Json reward = answer.value("reward", Json());
  if (reward.is_null()) return {};
  if (!reward.is_number() || !std::isfinite(reward.get<double>()))
    return {.failure = "the agent's \"reward\" is " + excerpt(to_lenient_json_text(reward)) + ", no number"};
  return {.reward = reward.get<double>()};
}

}  // namespace

AgentProcesses::AgentProcesses(const AgentConfig& config, std::string base_url, AgentHub& hub)
    : config_(config), base_url_(std::move(base_url)), hub_(hub) {
  for (int64_t i = 0; i < config.workers; ++i) threads_.emplace_back([this] { work(); });
}

AgentProcesses::~AgentProcesses() {
  hub_.stop();
  for (std::thread& thread : threads_) thread.join();
}

void AgentProcesses::work() {
  std::unique_ptr<ChildProcess> copy;
  while (const auto task = hub_.claim(/*waits=*/true)) {
    const Json line = task_json(*task, base_url_, config_.model_name);
    hub_.post(task->key, play(copy, config_, line));
  }
}

}  // namespace cohort
