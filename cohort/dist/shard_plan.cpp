#include "cohort/dist/shard_plan.h"

#include <algorithm>

namespace cohort::dist {
namespace {

/// All blocks of the leaves.
std::vector<LeafPart> blocks_of(const std::vector<int64_t>& leaves, const std::vector<int64_t>& lengths) {
  std::vector<LeafPart> blocks;
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (int64_t from = 0; from < lengths[i]; from += kBlockLength)
      blocks.push_back({leaves[i], from, std::min(kBlockLength, lengths[i] - from)});
  }
  return blocks;
}

void add_block(const LeafPart& block, std::vector<LeafPart>& parts) {
  if (!parts.empty() && parts.back().leaf == block.leaf) {
    parts.back().count += block.count;
  } else {
    parts.push_back(block);
  }
}

}  // namespace

std::vector<ShardChunk> plan_shards(const std::vector<int64_t>& leaves, const std::vector<int64_t>& lengths,
                                    int64_t num_ranks, int64_t most) {
  const std::vector<LeafPart> blocks = blocks_of(leaves, lengths);
  const auto count = static_cast<int64_t>(blocks.size());
  const int64_t in_a_chunk = std::max<int64_t>(most / kBlockLength, num_ranks);
  std::vector<ShardChunk> chunks;
  for (int64_t first = 0; first < count; first += in_a_chunk) {
    const int64_t size = std::min(in_a_chunk, count - first);
    ShardChunk& chunk = chunks.emplace_back();
    for (int64_t rank = 0; rank < num_ranks; ++rank) {
      std::vector<LeafPart>& parts = chunk.of_rank.emplace_back();
      int64_t length = 0;
      for (int64_t i = rank * size / num_ranks; i < (rank + 1) * size / num_ranks; ++i) {
        add_block(blocks[first + i], parts);
        length += blocks[first + i].count;
      }
      chunk.length = std::max(chunk.length, length);
    }
  }
  return chunks;
}

}  // namespace cohort::dist
