#include "cohort/agent/agent_hub.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "cohort/http/error_json.h"

namespace cohort {
namespace {

/// How long the sampling thread waits before it looks after deadlines and Ctrl-C again.
constexpr std::chrono::milliseconds kLongestWait{20};

}  // namespace

void refuse(const ApiCall& call, const std::string& message, int status) {
  call.answer->send(status, to_json_text(error_json(call.path, message, status)));
}

Json task_json(const AgentTask& task, const std::string& base_url, const std::string& model_name) {
  return {{"id", task.episode},
          {"base_url", base_url},
          {"api_key", task.key},
          {"model", model_name},
          {"row", task.row}};
}

void AgentHub::open(std::vector<AgentTask> tasks) {
  {
    const std::lock_guard lock(mutex_);
    for (const AgentTask& task : tasks) episodes_[task.key] = task.episode;
    std::ranges::move(tasks, std::back_inserter(tasks_));
  }
  opened_.notify_all();
}

void AgentHub::close(int64_t episode) {
  const std::lock_guard lock(mutex_);
  std::erase_if(episodes_, [&](const auto& entry) { return entry.second == episode; });
  std::erase_if(tasks_, [&](const AgentTask& task) { return task.episode == episode; });
}

void AgentHub::close_all() {
  const std::lock_guard lock(mutex_);
  episodes_.clear();
  tasks_.clear();
  for (const AgentLetter& letter : letters_) {
    if (const auto* call = std::get_if<ApiCall>(&letter.content)) refuse(*call, kOver, 410);
  }
  letters_.clear();
}

std::deque<AgentLetter> AgentHub::take(bool waits) {
  std::unique_lock lock(mutex_);
  if (waits) arrived_.wait_for(lock, kLongestWait, [&] { return !letters_.empty(); });
  return std::exchange(letters_, {});
}

std::optional<AgentTask> AgentHub::claim(bool waits) {
  std::unique_lock lock(mutex_);
  if (waits) opened_.wait(lock, [&] { return !tasks_.empty() || is_stopping_; });
  if (tasks_.empty() || is_stopping_) return std::nullopt;
  AgentTask task = std::move(tasks_.front());
  tasks_.pop_front();
  letters_.push_back({task.episode, AgentBegin()});
  arrived_.notify_one();
  return task;
}

bool AgentHub::post(const std::string& key, std::variant<AgentBegin, ApiCall, AgentEnd> content) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = episodes_.find(key);
    if (found == episodes_.end()) return false;
    letters_.push_back({found->second, std::move(content)});
  }
  arrived_.notify_one();
  return true;
}

void AgentHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  opened_.notify_all();
}

}  // namespace cohort
