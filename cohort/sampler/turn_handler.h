// What happens between the turns of a rollout's completions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rl/batch.h"
#include "cohort/sampler/engine.h"

namespace cohort {

struct RolloutAddress;

/// Tokens that stand between a prompt and the first turn of each of its completions, often none.
using Openings = std::vector<std::vector<std::vector<int32_t>>>;

/// Gets each completion when it goes on no more, with the other conversations of its episode.
using EndCompletion =
    std::function<void(int64_t prompt, int64_t sample, Completion completion, std::vector<Sample> branches)>;

/// Where a completion's first turn calls a tool for the first time, in places of Completion::token_ids.
struct CallPlace {
  int64_t first = 0;   ///< the first token of the mark that opens the call
  int64_t opened = 0;  ///< the first token after the mark
  int64_t end_of_turn = 0;
};

/// A rollout that begins. All of it outlives the rollout.
struct RolloutStart {
  std::vector<Prompt>& prompts;  ///< the handler may change their tokens until the rollout's end
  const std::vector<int64_t>& group_sizes;
  const SamplingParams& params;
  const RolloutAddress& address;
  EndCompletion end;
};

/// How long replies took.
struct ReplyTimes {
  std::map<std::string, std::vector<double>> of_calls{};  ///< by the tool's name, the seconds of each call
  double idle_s = 0.0;  ///< that the sampler had nothing to do but to wait for replies
};

/// The thread that samples makes all calls.
class TurnHandler {
 public:
  virtual ~TurnHandler() = default;

  /// Whether take_replies() adds the requests of a rollout, with prompts of any length.
  virtual bool adds_requests() const { return false; }

  /// Begins the completions of a rollout. May shorten a prompt to what its completions share. Empty if
  /// adds_requests().
  virtual Openings begin(RolloutStart start) = 0;

  /// The held request `id` has drawn a turn, or tokens that were to follow its last one found no room. The
  /// handler then or later extends it, or ends its completion and cancels it.
  virtual void end_turn(Engine& engine, RequestId id, int64_t prompt, int64_t sample,
                        const Completion& completion) = 0;

  /// Extends and ends the requests for which something has arrived. If nothing has, `waits` allows a short
  /// wait. Returns whether the engine has new work or more will arrive.
  virtual bool take_replies(Engine& engine, bool waits) = 0;

  /// Of all rollouts since the last call; nothing if the handler does not measure them.
  virtual std::optional<ReplyTimes> take_times() { return std::nullopt; }

  /// Nothing if the first turn calls no tool, or if the handler does not read turns.
  virtual std::optional<CallPlace> first_call(const Completion& completion) const {
    (void)completion;
    return std::nullopt;
  }
};

}  // namespace cohort
