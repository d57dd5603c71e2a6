// Trained weights of which each process updates a part (ZeRO, arXiv:1910.02054): gradients are added up for
// the part of each, and what was updated is told to all.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cohort/dist/group.h"
#include "cohort/dist/shard_plan.h"

namespace cohort::dist {

/// The values of a part of a contiguous tensor: [count], a view without gradient.
at::Tensor part_of(const at::Tensor& whole, const LeafPart& part);

/// Bytes that sums and weights of so many bytes take on their way between processes, at most; 0 for a group
/// of one.
int64_t exchange_bytes(const Group& group, int64_t num_bytes);

/// All processes call the same functions in the same order; these throw RankLost. In a group of one, the
/// parts are the leaves and nothing is copied.
class Shards {
 public:
  /// `leaves` are contiguous. `is_packed`, one for each leaf: whether a process has no more of it in float32
  /// than its own parts.
  Shards(Group& group, const std::vector<at::Tensor>& leaves, const std::vector<bool>& is_packed);

  Group& group() const { return *group_; }

  /// The parts that this process updates.
  const std::vector<LeafPart>& own() const { return own_; }

  /// The sum over the processes of the leaves' gradients, float32: [count] of each own part. The leaves'
  /// gradients are missing afterwards, unless the process is alone.
  std::vector<at::Tensor> sum_gradients() const;

  /// `own`: numbers of the blocks of each own part. Returns those of all blocks, by leaf.
  std::vector<std::vector<double>> gather_blocks(const std::vector<std::vector<double>>& own) const;

  using TakeLeaf = std::function<void(int64_t leaf, const at::Tensor& values)>;

  /// Calls take(leaf, values) for each leaf that is not packed, with its values of all processes in the
  /// leaf's sizes. `parts`: [count] of each own part.
  void gather_whole(const std::vector<at::Tensor>& parts, const TakeLeaf& take) const;

  /// The same for packed leaves, whose values are sent and given as `dtype`.
  void gather_packed(const std::vector<at::Tensor>& parts, at::ScalarType dtype, const TakeLeaf& take) const;

 private:
  /// Chunks, and the place of their first part among the own ones.
  struct Row {
    std::vector<ShardChunk> chunks;
    int64_t first_own = 0;
  };

  Row plan(const std::vector<bool>& is_packed, bool packed_ones);
  void sum(const Row& row, std::vector<at::Tensor>& sums) const;
  void gather(const Row& row, const std::vector<at::Tensor>& parts, at::ScalarType dtype,
              const TakeLeaf& take) const;

  Group* group_;
  std::vector<at::Tensor> leaves_;
  std::vector<LeafPart> own_;
  Row whole_, packed_;
};

}  // namespace cohort::dist
