// What passes between agents and the thread that samples.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/serve/api_server.h"

namespace cohort {

/// An episode that waits for an agent.
struct AgentTask {
  int64_t episode = 0;
  std::string key;  ///< the API key of its requests
  Json row;         ///< the prompt and all columns of the data set's row
};

/// The task as an agent reads it: {"id", "base_url", "api_key", "model", "row"}.
Json task_json(const AgentTask& task, const std::string& base_url, const std::string& model_name);

/// An agent has taken the task.
struct AgentBegin {};

/// An agent has ended its episode.
struct AgentEnd {
  std::optional<double> reward{};
  std::string failure{};  ///< the episode teaches nothing; empty if not
};

struct AgentLetter {
  int64_t episode;
  std::variant<AgentBegin, ApiCall, AgentEnd> content;
};

inline constexpr const char* kOver = "the episode is over";

/// Answers a call with an error.
void refuse(const ApiCall& call, const std::string& message, int status = 400);

class AgentHub {
 public:
  // The thread that samples calls these.

  void open(std::vector<AgentTask> tasks);
  void close(int64_t episode);
  void close_all();

  /// The letters that have come. If there are none, `waits` allows a short wait.
  std::deque<AgentLetter> take(bool waits);

  // Any thread may call these.

  /// The next task that nobody has claimed. Nothing if there is none; `waits` waits for one, until stop().
  std::optional<AgentTask> claim(bool waits);

  /// False if the key belongs to no open episode.
  bool post(const std::string& key, std::variant<AgentBegin, ApiCall, AgentEnd> content);

  /// Ends all waits of claim().
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable arrived_, opened_;
  std::deque<AgentTask> tasks_;
  std::unordered_map<std::string, int64_t> episodes_;  // that are open, by key
  std::deque<AgentLetter> letters_;
  bool is_stopping_ = false;
};

}  // namespace cohort
