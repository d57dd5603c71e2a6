// Runs the rewards of a recipe beside generation.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// A reward's workers take completions in the order of `submit`: what waits, divided among them, but never
/// more at a time than the reward takes. Any thread may call.
class RewardScorer {
 public:
  /// Throws ConfigError for no reward, two of one name, one that requires what is not there, or what
  /// `make_reward` refuses.
  explicit RewardScorer(const std::vector<RewardConfig>& configs);

  /// Drops what was not scored yet and waits for the calls under way.
  ~RewardScorer();

  RewardScorer(const RewardScorer&) = delete;
  RewardScorer& operator=(const RewardScorer&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& weights() const { return weights_; }

  /// Hands a finished completion to all rewards and returns at once; both are copied. `sample` counts from 0
  /// in its group, in any order.
  void submit(int64_t group, int64_t sample, const Prompt& prompt, const Completion& completion);

  /// Waits for all completions that were submitted for `group`, and forgets the group. Scores are clipped and
  /// those are 0 whose required reward is below 1; where that one failed, they fail with it.
  RewardMatrix take(int64_t group);

 private:
  struct Sample {
    Prompt prompt;
    Completion completion;
    std::vector<RewardResult> results;  // one per reward
    int64_t num_pending = 0;
  };

  void work(size_t reward);
  std::vector<Sample*> take_share(size_t reward);
  bool applies(size_t reward, const Prompt& prompt) const;
  void shape(std::vector<RewardResult>& results) const;

  std::vector<RewardConfig> configs_;
  std::vector<std::optional<size_t>> required_;  // one per reward: the place of the one that it requires
  std::vector<std::string> names_;
  std::vector<double> weights_;
  std::vector<std::unique_ptr<Reward>> rewards_;

  std::mutex mutex_;  // guards all below; a Sample's prompt and completion never change once submitted
  std::condition_variable changed_;
  std::map<int64_t, std::map<int64_t, Sample>> groups_;
  std::vector<std::deque<Sample*>> queues_;  // one per reward
  bool is_stopping_ = false;

  std::vector<std::thread> workers_;
};

}  // namespace cohort
