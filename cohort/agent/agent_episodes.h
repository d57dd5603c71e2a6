// Episodes that agents play: programs that ask the policy through an HTTP endpoint, in any language.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/agent/agent_config.h"
#include "cohort/agent/agent_hub.h"
#include "cohort/agent/branch.h"
#include "cohort/sampler/turn_handler.h"
#include "cohort/serve/api/served_model.h"

namespace cohort {

/// Draws what agents ask for and makes a completion of each episode. Requests whose messages continue an
/// earlier request of their episode extend its tokens: the policy's turns stay as they were sampled, and what
/// the agent says in between is injected. Others begin or fork a branch. The branch with the episode's last
/// turn is its completion, and the others are trained on with its reward (Sample::branches).
class AgentEpisodes : public TurnHandler {
 public:
  /// `model` and `hub` must outlive this. `stop_ids` end a turn. Throws UserError if the model's chat
  /// template cannot put a message after a turn.
  AgentEpisodes(const AgentConfig& config, const ServedModel& model, AgentHub& hub,
                std::vector<int32_t> stop_ids);
  ~AgentEpisodes() override;

  bool adds_requests() const override { return true; }
  Openings begin(RolloutStart start) override;
  void end_turn(Engine&, RequestId, int64_t, int64_t, const Completion&) override;
  bool take_replies(Engine& engine, bool waits) override;
  std::optional<ReplyTimes> take_times() override { return std::exchange(times_, {}); }

  /// Refuses what agents ask for from now on, until the next rollout.
  void abandon() noexcept;

  /// False if the template renders earlier turns otherwise as a conversation goes on.
  bool keeps_turns() { return format_for(nullptr).keeps_turns(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Episode {
    int64_t prompt = 0, sample = 0;
    std::vector<Branch> branches{};
    std::optional<ApiCall> call{};  ///< that is being answered
    size_t drawing = 0;             ///< the branch that draws its answer
    EpisodeRecord record{};
    std::optional<Clock::time_point> deadline{};
    bool is_over = false;
  };

  const TurnFormat& format_for(const Json& tools);
  void take(Engine& engine, AgentLetter letter);
  void draw(Engine& engine, Episode& episode, ApiCall call);
  void continue_branch(Engine& engine, Episode& episode, const Continuation& from,
                       const GenerationRequest& request);
  void add_branch(Engine& engine, Episode& episode, const GenerationRequest& request);
  void check(const Episode& episode, const GenerationRequest& request) const;
  void end_drawing(RequestId id, const Completion& completion);
  void answer(Episode& episode, Branch& branch, const Completion& completion);
  void end(Engine& engine, Episode& episode, AgentEnd end);
  void end_group(Engine& engine, int64_t prompt);
  void finish_group(Engine& engine, int64_t prompt);
  DrawAddress address_of(const Episode& episode, size_t branch) const;

  AgentConfig config_;
  const ServedModel& model_;
  AgentHub& hub_;
  std::vector<int32_t> stop_ids_;
  std::map<std::string, std::unique_ptr<TurnFormat>> formats_;  // by the tools
  std::string key_prefix_;
  ReplyTimes times_;          // without calls: agents have tools of their own
  int64_t first_number_ = 0;  // of this rollout's first episode

  // Of the rollout.
  std::optional<RolloutStart> start_;
  std::vector<size_t> first_of_;  // per prompt: its first episode
  std::vector<Episode> episodes_;
  std::map<RequestId, std::pair<size_t, size_t>> drawn_by_;  // episode and branch
  std::vector<int64_t> num_playing_;                         // per prompt
  int64_t num_groups_ = 0;                                   // that are not finished
  Engine* engine_ = nullptr;                                 // of the step, for callbacks
};

}  // namespace cohort
