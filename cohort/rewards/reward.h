// A reward function: a score and a status for one completion. A failure is a status, never an exception or a
// zero.
//
// A completion that is wrong, malformed or without an answer is judged: score 0, status ok, with the reason
// in `detail`; otherwise a policy would never learn the format. Every other status says that the verifier
// could not judge: kUnparsed (the row's own columns are missing or unreadable, or a limit of the verifier is
// exceeded), kTimeout, kError, kSandboxError. kSkipped: this reward does not apply to the row.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/rewards/reward_config.h"
#include "cohort/rl/types.h"

namespace cohort {

struct RewardRow {
  const Prompt& prompt;
  const Completion& completion;
};

/// A line of an explanation: the part of the completion or row, and how the reward read it.
struct Remark {
  std::string label;
  std::string text;
};

class Reward {
 public:
  virtual ~Reward() = default;

  /// Scores `completion` of `prompt`; at most `num_workers` calls at a time.
  virtual RewardResult score(const Prompt& prompt, const Completion& completion) = 0;

  /// One result for each of at most `batch_size` rows, in order.
  virtual std::vector<RewardResult> score_batch(std::span<const RewardRow> rows);

  /// The parts of completion and row that the reward read, and how, for people who try a reward. `detail`
  /// explains the score; returns nothing if that says everything. Any thread may call, while others score.
  virtual std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const;

  /// The answer that it reads in a completion, for a majority vote. Empty if the completion states none or
  /// the reward reads no answers. Any thread may call.
  virtual std::string answer(const Prompt& prompt, const Completion& completion) const;

  /// Whether two of these answers say the same.
  virtual bool is_same_answer(const std::string& one, const std::string& other) const { return one == other; }

  /// Whether it compares: a call gets all completions of one group, and `batch_size` has no effect.
  virtual bool compares() const { return false; }

  /// The most rows of one call.
  virtual int64_t batch_size() const { return 1; }

  /// How many calls may run at a time, on threads of their own. 0: the thread that takes the results makes
  /// one call for all completions that were submitted, and an exception of that call reaches it.
  virtual int64_t num_workers() const { return 1; }

  /// The environment of its programs, for a run's log and checkpoints, such as the sandbox's level; often
  /// empty.
  virtual std::string environment() const { return ""; }

  /// Whether its results have `steps`.
  virtual bool gives_steps() const { return false; }

  /// The most memory that it holds, if the memory plan should count it.
  virtual int64_t memory_bytes() const { return 0; }

  /// Whether a failure may pass without a change of the recipe, as the outage of a server does.
  virtual bool may_recover() const { return false; }

  /// Ends what calls have started, such as programs: later calls begin as the first one did. No call may be
  /// under way.
  virtual void restart() {}
};

/// The same failure for each of `rows`; the details begin with the row's name.
std::vector<RewardResult> fail_rows(std::span<const RewardRow> rows, RewardStatus status,
                                    const std::string& reason);

/// The own keys of a type of reward, and what makes a reward of them.
struct RewardMaker {
  std::function<std::unique_ptr<Reward>(const RewardConfig&)> make;
  std::function<Section()> keys{};  ///< the struct of its keys with their defaults; none where it is empty
  size_t keys_size = 0;             ///< of that struct, for the test that it describes all of its members

  Section own_keys() const { return keys ? keys() : Section{}; }
};

/// The maker of a type whose keys are the struct `Keys`: `make(config, keys)` returns a reward, or throws
/// ConfigError.
template <typename Keys, typename Make>
RewardMaker reward_maker(Make make) {
  return {[make = std::move(make)](const RewardConfig& config) -> std::unique_ptr<Reward> {
            return make(config, read_keys<Keys>(config));
          },
          [keys = std::make_shared<Keys>()] { return settings_of(*keys); }, sizeof(Keys)};
}

/// A kind of reward: a line of rewards.def, or one that a layer above adds.
struct RewardType {
  std::string name;
  std::string meaning;  ///< what it scores
  RewardMaker maker;
};

using RewardTypes = std::vector<RewardType>;

/// Those of rewards.def, in its order.
const RewardTypes& builtin_rewards();

/// Builds a reward of one of `types`. Throws ConfigError for an unknown type, naming the nearest one, and for
/// settings that are missing, out of range or without effect.
std::unique_ptr<Reward> make_reward(const RewardConfig& config, const RewardTypes& types = builtin_rewards());

}  // namespace cohort
