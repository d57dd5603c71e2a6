// What a policy acts in: it reads each turn of an episode and answers it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/rl/batch.h"
#include "cohort/text/tool_calls/message.h"
#include "libs/common/hash.h"

namespace cohort {

/// The number of a state of an environment, from a text that equal states share.
inline int64_t state_number(std::string_view text) { return static_cast<int64_t>(fnv1a(text)); }

struct CallTime {
  std::string tool;
  double seconds;
};

/// An answer to one turn.
struct Reply {
  Json messages = Json::array();   ///< with the roles "tool" and "user"; empty ends the episode
  bool is_last = false;            ///< the episode ends after these messages; the policy does not see them
  double reward = kNoReward;       ///< of this turn, if the environment gives one
  int64_t num_calls = 0;           ///< of tools, malformed ones included
  int64_t num_failed_calls = 0;    ///< those whose result is an error
  std::vector<CallTime> times{};   ///< of the calls that reached a tool
  std::optional<int64_t> state{};  ///< the state after the turn; nothing: the one before it
  std::string failure{};           ///< the environment failed, and the episode teaches nothing; empty if not
};

/// An episode in an environment. The thread that samples calls one function after another. Each calls its
/// last argument once, at once or later and from any thread, also after this object's end. If its work has to
/// wait for that of other episodes, it calls `begun` when the work begins: its time counts from then.
class Episode {
 public:
  using Begun = std::function<void()>;
  using Answer = std::function<void(Reply)>;
  using Judgement = std::function<void(RewardResult)>;

  virtual ~Episode() = default;

  /// `is_last`: no limit leaves room for another turn, so that tools need not be called.
  virtual void respond(const AssistantMessage& turn, bool is_last, Begun begun, Answer answer) = 0;

  /// Judges the ended episode. Called only if the environment gives rewards.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep them
  virtual void judge(Begun, Judgement judgement) { judgement({0.0, RewardStatus::kSkipped, ""}); }
};

/// The place of an episode: sample `sample` of `prompt`. What it draws must depend on `seed` and the prompt
/// alone; all samples of a prompt have the same seed.
struct EpisodeStart {
  const Prompt* prompt;
  int64_t sample = 0;
  uint64_t seed = 0;
};

struct Opening {
  std::unique_ptr<Episode> episode;
  std::string observation{};       ///< goes on after the last message of the prompt; often empty
  std::string failure{};           ///< as Reply::failure
  int64_t number = -1;             ///< the environment's own number of the episode, for its rewards
  std::optional<int64_t> state{};  ///< before the first turn
};

class Environment {
 public:
  virtual ~Environment() = default;

  /// The JSON schemas of the tools that prompts name; null if there are none.
  virtual Json tools() const { return nullptr; }

  /// Whether its episodes are judged when they end.
  virtual bool gives_rewards() const { return false; }

  /// Whether its replies may reward turns.
  virtual bool gives_turn_rewards() const { return false; }

  /// Whether its openings have states, and its replies those that have changed.
  virtual bool gives_states() const { return false; }

  /// Begins episodes, one for each start.
  virtual std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) = 0;
};

}  // namespace cohort
