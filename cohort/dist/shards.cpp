#include "cohort/dist/shards.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/dist/gradient_sum.h"

namespace cohort::dist {
namespace {

/// Bytes of float32 values that a process sends at once.
constexpr int64_t kChunkBytes = 64 << 20;

int64_t num_blocks(const LeafPart& part) { return (part.count + kBlockLength - 1) / kBlockLength; }

}  // namespace

at::Tensor part_of(const at::Tensor& whole, const LeafPart& part) {
  return whole.detach().view({-1}).slice(0, part.from, part.from + part.count);
}

int64_t exchange_bytes(const Group& group, int64_t num_bytes) {
  // What is sent, what comes, and the sums of halves and of all.
  return group.size() > 1 ? 4 * std::min(kChunkBytes, num_bytes) : 0;
}

Shards::Shards(Group& group, const std::vector<at::Tensor>& leaves, const std::vector<bool>& is_packed)
    : group_(&group), leaves_(leaves) {
  for (const at::Tensor& leaf : leaves_) COHORT_CHECK(leaf.is_contiguous());
  if (group.size() == 1) {
    for (size_t i = 0; i < leaves_.size(); ++i)
      own_.push_back({static_cast<int64_t>(i), 0, leaves_[i].numel()});
    return;
  }
  COHORT_CHECK(is_packed.size() == leaves_.size());
  whole_ = plan(is_packed, false);
  packed_ = plan(is_packed, true);
}

Shards::Row Shards::plan(const std::vector<bool>& is_packed, bool packed_ones) {
  std::vector<int64_t> indices, lengths;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (is_packed[i] != packed_ones) continue;
    indices.push_back(static_cast<int64_t>(i));
    lengths.push_back(leaves_[i].numel());
  }
  Row row{plan_shards(indices, lengths, group_->size(), kChunkBytes / static_cast<int64_t>(sizeof(float))),
          std::ssize(own_)};
  for (const ShardChunk& chunk : row.chunks) {
    const std::vector<LeafPart>& own = chunk.of_rank[group_->rank()];
    own_.insert(own_.end(), own.begin(), own.end());
  }
  return row;
}

std::vector<at::Tensor> Shards::sum_gradients() const {
  std::vector<at::Tensor> sums;
  if (group_->size() == 1) {
    for (const LeafPart& part : own_) sums.push_back(leaves_[part.leaf].grad().view({-1}));
    return sums;
  }
  sum(whole_, sums);
  sum(packed_, sums);
  return sums;
}

void Shards::sum(const Row& row, std::vector<at::Tensor>& sums) const {
  const at::NoGradGuard no_grad;
  for (const ShardChunk& chunk : row.chunks) {
    const at::Tensor sent = at::zeros({group_->size(), chunk.length});
    for (int64_t rank = 0; rank < group_->size(); ++rank) {
      int64_t place = 0;
      for (const LeafPart& part : chunk.of_rank[rank]) {
        at::Tensor& gradient = leaves_[part.leaf].mutable_grad();
        COHORT_CHECK(gradient.defined() && gradient.scalar_type() == at::kFloat);
        sent[rank].slice(0, place, place + part.count).copy_(part_of(gradient, part));
        place += part.count;
        if (part.from + part.count == gradient.numel()) gradient = at::Tensor();
      }
    }
    const at::Tensor sum = tree_sum(group_->exchange(sent, "the sum of gradients"));
    int64_t place = 0;
    for (const LeafPart& part : chunk.of_rank[group_->rank()]) {
      sums.push_back(sum.slice(0, place, place + part.count).to(leaves_[part.leaf].device()));
      place += part.count;
    }
  }
}

std::vector<std::vector<double>> Shards::gather_blocks(const std::vector<std::vector<double>>& own) const {
  if (group_->size() == 1) return own;
  std::vector<std::vector<double>> all(leaves_.size());
  std::vector<std::vector<LeafPart>> parts(group_->size());
  std::vector<int64_t> counts(group_->size());
  for (const Row* row : {&whole_, &packed_}) {
    for (const ShardChunk& chunk : row->chunks) {
      for (int64_t rank = 0; rank < group_->size(); ++rank) {
        for (const LeafPart& part : chunk.of_rank[rank]) {
          parts[rank].push_back(part);
          counts[rank] += num_blocks(part);
        }
      }
    }
  }
  std::vector<double> sent;
  for (const std::vector<double>& numbers : own) sent.insert(sent.end(), numbers.begin(), numbers.end());
  COHORT_CHECK(std::ssize(sent) == counts[group_->rank()]);
  sent.resize(std::ranges::max(counts));
  const at::Tensor rows = group_->all_gather(at::tensor(sent, at::kDouble), "the norm of the gradient");
  for (int64_t rank = 0; rank < group_->size(); ++rank) {
    const double* next = rows[rank].const_data_ptr<double>();
    for (const LeafPart& part : parts[rank]) {
      std::vector<double>& of_leaf = all[part.leaf];
      const int64_t first = part.from / kBlockLength, count = num_blocks(part);
      of_leaf.resize(std::max(std::ssize(of_leaf), first + count));
      std::copy_n(next, count, of_leaf.begin() + first);
      next += count;
    }
  }
  return all;
}

void Shards::gather_whole(const std::vector<at::Tensor>& parts, const TakeLeaf& take) const {
  if (group_->size() == 1) {
    for (const LeafPart& part : own_) take(part.leaf, parts[part.leaf].view(leaves_[part.leaf].sizes()));
  }
  if (!whole_.chunks.empty()) gather(whole_, parts, leaves_.front().scalar_type(), take);
}

void Shards::gather_packed(const std::vector<at::Tensor>& parts, at::ScalarType dtype,
                           const TakeLeaf& take) const {
  gather(packed_, parts, dtype, take);
}

void Shards::gather(const Row& row, const std::vector<at::Tensor>& parts, at::ScalarType dtype,
                    const TakeLeaf& take) const {
  const at::NoGradGuard no_grad;
  auto own = parts.begin() + row.first_own;
  at::Tensor values;  // of the leaf that is coming in
  for (const ShardChunk& chunk : row.chunks) {
    const at::Tensor sent = at::zeros({chunk.length}, dtype);
    int64_t place = 0;
    for (const LeafPart& part : chunk.of_rank[group_->rank()]) {
      sent.slice(0, place, place + part.count).copy_(*own++);
      place += part.count;
    }
    const at::Tensor rows = group_->all_gather(sent, "the updated weights");
    for (int64_t rank = 0; rank < group_->size(); ++rank) {
      place = 0;
      for (const LeafPart& part : chunk.of_rank[rank]) {
        const at::Tensor& leaf = leaves_[part.leaf];
        if (part.from == 0) values = at::empty(leaf.sizes(), dtype);
        part_of(values, part).copy_(rows[rank].slice(0, place, place + part.count));
        place += part.count;
        if (part.from + part.count == leaf.numel()) take(part.leaf, values);
      }
    }
  }
}

}  // namespace cohort::dist
