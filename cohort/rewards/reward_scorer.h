// Runs the rewards of a recipe beside generation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/rewards/reward.h"
#include "cohort/rl/batch.h"

namespace cohort {

/// When a reward function was at work on a completion.
struct RewardCall {
  using Clock = std::chrono::steady_clock;

  size_t reward = 0;
  Clock::time_point start, end;
  int64_t num_rows = 1;  ///< completions that the same call scored, each of which has such an entry
};

/// A reward's workers take completions in the order of `submit`: what waits, divided among them, but never
/// more at a time than the reward takes. Any thread may call.
class RewardScorer {
 public:
  /// Throws ConfigError for no reward, two of one name, one that requires what is not there, more workers
  /// than can be started, or what `make_reward` refuses.
  explicit RewardScorer(const std::vector<RewardConfig>& configs,
                        const RewardTypes& types = builtin_rewards());

  /// Drops what was not scored yet and waits for the calls under way.
  ~RewardScorer();

  RewardScorer(const RewardScorer&) = delete;
  RewardScorer& operator=(const RewardScorer&) = delete;

  const std::vector<std::string>& names() const { return names_; }

  /// At `step` of a run, counted from 1.
  std::vector<double> weights(int64_t step) const;

  /// At the end of their schedules, for judging outside of training.
  const std::vector<double>& weights() const { return weights_; }

  /// Name and surroundings of the rewards that have something to say of them.
  const std::map<std::string, std::string>& environments() const { return environments_; }

  /// Per reward whether it judges step by step.
  const std::vector<uint8_t>& gives_steps() const { return gives_steps_; }

  /// What the rewards hold at most, as far as they plan for it.
  int64_t memory_bytes() const;

  /// The result of one reward in a call of its own, neither clipped nor held against what it requires. All
  /// that was submitted must have been taken.
  RewardResult score_alone(size_t reward, const Prompt& prompt, const Completion& completion);

  /// Ends what the rewards have started (Reward::restart). All that was submitted must have been taken.
  void restart();

  /// For explanations; it scores on other threads.
  const Reward& reward(int64_t place) const { return *rewards_.at(place); }

  /// Hands a finished completion to all rewards and returns at once; both are copied. `sample` counts from 0
  /// in its group, in any order. If the completion's environment failed, no reward is called, and all cells
  /// are kError.
  void submit(int64_t group, int64_t sample, const Prompt& prompt, const Completion& completion);

  /// All completions of the groups before `end`, from `first` on, are submitted: rewards that compare them
  /// may begin. `take` closes its group.
  void close(int64_t first, int64_t end);

  /// Waits for all completions that were submitted for `group`, and forgets the group. Returns a sample's
  /// cells, one per reward, for each sample in order. Scores are clipped; a score is 0 if its required reward
  /// is below 1, and fails if that one failed. Appends to `calls`, if given, when each reward that applied
  /// was at work. Rewards without workers score here, in order of group and sample, and may throw: then all
  /// that was submitted is dropped.
  std::vector<std::vector<RewardResult>> take(int64_t group, std::vector<RewardCall>* calls = nullptr);

  /// Forgets all that was submitted; waits for the calls under way.
  void drop();

 private:
  /// A completion that is being scored.
  struct Entry {
    std::pair<int64_t, int64_t> place;  // group and sample
    Prompt prompt;
    Completion completion;
    std::vector<RewardResult> results;  // one per reward
    std::vector<RewardCall> calls;
    int64_t num_pending = 0;
    std::vector<size_t> comparing{};  // the rewards that wait for the rest of the group
  };

  void start_workers();
  void stop_workers();
  void work(size_t reward);
  std::vector<Entry*> take_share(size_t reward);
  void close_group(std::map<int64_t, Entry>& samples);
  void score_here(size_t reward, std::unique_lock<std::mutex>& lock);
  void note(size_t reward, const std::vector<Entry*>& samples, std::vector<RewardResult> results,
            const RewardCall& call);
  void drop_all(std::unique_lock<std::mutex>& lock);
  bool applies(size_t reward, const Prompt& prompt) const;
  void shape(std::vector<RewardResult>& results) const;

  std::vector<RewardConfig> configs_;
  std::vector<std::optional<size_t>> required_;  // one per reward: the place of the one that it requires
  std::vector<std::string> names_;
  std::vector<double> weights_;
  std::map<std::string, std::string> environments_;
  std::vector<uint8_t> gives_steps_;
  std::vector<std::unique_ptr<Reward>> rewards_;

  std::mutex mutex_;  // guards all below; an Entry's prompt and completion never change once submitted
  std::condition_variable changed_;
  std::map<int64_t, std::map<int64_t, Entry>> groups_;
  std::vector<std::deque<Entry*>> queues_;  // one per reward
  bool is_stopping_ = false;

  std::vector<std::thread> workers_;
};

/// Waits for what was submitted as group `number` and gives each sample of `group` its rewards.
void take_rewards(RewardScorer& scorer, int64_t number, Group& group,
                  std::vector<RewardCall>* calls = nullptr);

}  // namespace cohort
