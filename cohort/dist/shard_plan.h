// Which process updates which part of the trained weights.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort::dist {

/// Parts of leaves begin at multiples of so many values. Sums of squares run over blocks of this size, so
/// that they don't depend on the number of processes.
constexpr int64_t kBlockLength = 1 << 15;

/// The values [from, from + count) of a leaf, in the order of its memory.
struct LeafPart {
  int64_t leaf = 0;
  int64_t from = 0, count = 0;
};

/// Parts that processes exchange at once.
struct ShardChunk {
  std::vector<std::vector<LeafPart>> of_rank;  ///< one after another in what a rank sends
  int64_t length = 0;                          ///< values of the rank that has most of them
};

/// Cuts leaves of these lengths, in order, into chunks of about `most` values. The blocks of a chunk are
/// shared out evenly; those of a rank follow one another. `leaves` are the indices of the leaves that
/// `lengths` belong to.
std::vector<ShardChunk> plan_shards(const std::vector<int64_t>& leaves, const std::vector<int64_t>& lengths,
                                    int64_t num_ranks, int64_t most);

}  // namespace cohort::dist
