// Trees of completions (TreePO, arXiv:2508.17445): the completions of a prompt are cut into segments of equal
// length, and at the end of each segment those that go on fork.
//
// A fork has the tokens of another completion up to the end of a segment, and draws the next ones at its own
// address. So each completion has the distribution of one that was drawn alone, and beginnings that several
// have are drawn once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cohort/rl/batch.h"
#include "cohort/sampler/engine.h"
#include "cohort/sampler/sampling.h"
#include "cohort/sampler/tree_shape.h"
#include "libs/common/random.h"

namespace cohort {

/// The tree of one prompt, which grows until it has its completions.
class CompletionTree {
 public:
  /// Gets each completion as it ends; `sample` is its place in the group.
  using End =
      std::function<void(int64_t sample, const Completion& completion, const std::optional<ForkPlace>& fork)>;

  /// `address` is that of the first completion; the next ones follow it. Borrows the engine.
  CompletionTree(Engine& engine, TreeShape shape, int64_t num_completions, DrawAddress address, End end);

  /// Asks for the first completions, which begin at the prompt.
  void begin(const std::vector<int32_t>& prompt_ids, SamplingParams params, int64_t max_length);

  /// Call after each pass. Once all completions that go on have reached the end of their segment, they fork,
  /// and go on; where none goes on, those that have ended fork at the end of an earlier segment. False if the
  /// tree has its completions.
  bool grow();

 private:
  struct Path {
    RequestId id = -1;
    std::optional<ForkPlace> fork{};
    int64_t num_tokens = 0;
    bool is_drawn = false;  ///< it has neither ended nor reached the end of its segment
    bool is_ended = false;
    bool is_stopped = false;  ///< by a stop token or stop string
  };

  void end_segment(RequestId id, const Completion& completion);
  void fork_at_segment_ends(const std::vector<int64_t>& going_on);
  void fork_ended();
  void fork(int64_t path, int64_t num_segments);
  DrawAddress address_of(int64_t sample) const;
  CounterRng random_of(int64_t choice) const;
  int64_t room() const { return num_completions_ - std::ssize(paths_); }

  Engine& engine_;
  TreeShape shape_;
  int64_t num_completions_;
  DrawAddress address_;
  End end_;
  int64_t segment_length_ = 0, max_length_ = 0;
  std::vector<Path> paths_;
  std::unordered_map<RequestId, int64_t> places_;
  int64_t num_new_ends_ = 0;  ///< paths that have ended since the last fork
};

}  // namespace cohort
