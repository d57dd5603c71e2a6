// Episodes of many turns in a rollout: while one waits for its environment, the others go on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/env/environment.h"
#include "cohort/env/turn_format.h"
#include "cohort/sampler/turn_handler.h"

namespace cohort {

/// What ends an episode that the environment would go on with.
struct EpisodeLimits {
  int64_t max_turns = std::numeric_limits<int64_t>::max();       ///< of the policy
  int64_t max_tool_calls = std::numeric_limits<int64_t>::max();  ///< a turn that would exceed it is the last
  double timeout_s = 60.0;  ///< for one reply, from when the environment begins with it; then it has failed
};

/// Takes the turns of a rollout's completions to an environment and its replies back. An episode ends with a
/// turn that the environment leaves unanswered, with a turn that reached a limit of length, with the last
/// turn that the limits allow, or with a failure of the environment. Its completion then has an
/// EpisodeRecord, and as its text the policy's last turn.
class Episodes : public TurnHandler {
 public:
  /// Both must outlive this.
  Episodes(Environment& environment, const TurnFormat& format, EpisodeLimits limits);
  ~Episodes() override;

  Openings begin(RolloutStart start) override;
  void end_turn(Engine& engine, RequestId id, int64_t prompt, int64_t sample,
                const Completion& completion) override;
  bool take_replies(Engine& engine, bool waits) override;
  std::optional<ReplyTimes> take_times() override { return std::exchange(times_, {}); }
  std::optional<CallPlace> first_call(const Completion& completion) const override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Running {
    int64_t prompt = 0, sample = 0;
    std::unique_ptr<Episode> episode{};
    std::vector<int32_t> turn_ids{};  // of the prompt: they begin the first turn
    EpisodeRecord record{};
    Completion completion{};         // up to the policy's last turn
    AssistantMessage turn{};         // that turn
    std::optional<int64_t> state{};  // before the next turn
    size_t num_messages = 0;         // up to that turn
    RequestId request = -1;
    int64_t num_questions = 0;  // asked of the environment
    bool is_last = false;       // it is the last one that the limits allow
    bool is_waiting = false;    // for the reply to it, or for the judgement
    Clock::time_point asked{};
    std::optional<Clock::time_point> begun{};
  };
  struct Begun {};  // the environment works on the question
  using News = std::variant<Begun, Reply, RewardResult>;
  /// Replies on their way. The environment's threads share it and may outlive the rollout.
  struct Mailbox {
    struct Letter {
      size_t episode;
      int64_t number;  // of the question that it answers
      News content;
    };
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Letter> letters;
  };

  void read_turn(Running& episode, const Completion& completion);
  bool has_budget(const Running& episode) const;
  std::function<void(News)> await(size_t place);
  void ask(size_t place);
  void take(Engine& engine, size_t place, Reply reply);
  void end(Engine& engine, size_t place);
  void finish(Running& episode);
  bool take_letters(Engine& engine, bool waits);
  bool fail_late(Engine& engine);

  Environment& environment_;
  const TurnFormat& format_;
  EpisodeLimits limits_;
  EndCompletion end_;
  std::vector<size_t> first_of_;  // per prompt: the place of its first episode
  std::vector<Running> running_;
  int64_t num_waiting_ = 0;
  ReplyTimes times_;
  std::shared_ptr<Mailbox> mailbox_;
  Clock::time_point last_news_{};
};

}  // namespace cohort
