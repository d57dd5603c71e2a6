#include "cohort/dist/gradient_sum.h"

#include <algorithm>
#include <bit>

#include "cohort/core/error.h"

namespace cohort::dist {
namespace {

/// Bytes of gradients that a process holds twice while they are added up.
constexpr int64_t kChunkBytes = 64 << 20;

constexpr char kWhat[] = "the sum of gradients";

/// Goes through the gradients of all leaves as if they were one row.
class GradientRow {
 public:
  explicit GradientRow(const std::vector<at::Tensor>& leaves) {
    for (const at::Tensor& leaf : leaves) {
      at::Tensor gradient = leaf.grad();
      COHORT_CHECK(gradient.defined() && gradient.scalar_type() == at::kFloat && gradient.is_contiguous());
      length_ += gradient.numel();
      gradients_.push_back(std::move(gradient));
    }
  }

  int64_t length() const { return length_; }

  /// Calls f(tensor, values) for each part of a tensor within [begin, begin + count) of the row; `values` is
  /// where the part begins in the stretch.
  template <typename F>
  void for_each_part(int64_t begin, int64_t count, F f) const {
    int64_t first = 0;
    for (const at::Tensor& gradient : gradients_) {
      const int64_t from = std::max(begin, first), to = std::min(begin + count, first + gradient.numel());
      if (from < to) f(gradient.flatten().slice(0, from - first, to - first), from - begin);
      first += gradient.numel();
    }
  }

 private:
  std::vector<at::Tensor> gradients_;
  int64_t length_ = 0;
};

}  // namespace

SlotPlan SlotPlan::of(const Group& group, int64_t num_slots) {
  const int64_t size = group.size();
  if (num_slots == 0) num_slots = size;
  if (num_slots % size != 0 || !std::has_single_bit(static_cast<uint64_t>(num_slots / size))) {
    throw ConfigError(str("dist.gradient_slots is ", num_slots, " and there are ", size, " processes: take ",
                          size, ", ", 2 * size, ", ", 4 * size,
                          " ... slots, or leave it at 0, for one slot in each process"));
  }
  const int64_t count = num_slots / size;
  return {num_slots, group.rank() * count, count};
}

int64_t SlotPlan::num_copies() const { return std::bit_width(static_cast<uint64_t>(count)) - 1; }

int64_t exchange_bytes(const Group& group, int64_t gradient_bytes) {
  // What is sent, what comes, and the sums of halves and of all.
  return group.size() > 1 ? 4 * std::min(kChunkBytes, gradient_bytes) : 0;
}

at::Tensor tree_sum(at::Tensor rows) {
  while (rows.size(0) > 1) {
    const int64_t num_pairs = rows.size(0) / 2, rest = rows.size(0) % 2;
    const at::Tensor pairs = rows.slice(0, 0, 2 * num_pairs).unflatten(0, {num_pairs, 2});
    const at::Tensor sums = pairs.select(1, 0) + pairs.select(1, 1);
    rows = rest == 0 ? sums : at::cat({sums, rows.slice(0, 2 * num_pairs)});
  }
  return rows[0];
}

void SlotSums::end_slot(bool is_last) {
  Node node{0, {}};
  for (at::Tensor& leaf : leaves_) {
    at::Tensor& gradient = leaf.mutable_grad();
    node.gradients.push_back(gradient);
    gradient = is_last ? at::Tensor() : at::zeros_like(gradient);
  }
  while (!nodes_.empty() && nodes_.back().level == node.level) {
    for (size_t i = 0; i < leaves_.size(); ++i) nodes_.back().gradients[i].add_(node.gradients[i]);
    node = std::move(nodes_.back());
    ++node.level;
    nodes_.pop_back();
  }
  nodes_.push_back(std::move(node));
}

void SlotSums::finish() {
  COHORT_CHECK(nodes_.size() == 1);
  for (size_t i = 0; i < leaves_.size(); ++i) leaves_[i].mutable_grad() = nodes_.front().gradients[i];
  nodes_.clear();
}

void sum_over_processes(Group& group, const std::vector<at::Tensor>& leaves) {
  if (group.size() == 1) return;
  const at::NoGradGuard no_grad;
  const GradientRow row(leaves);
  const int64_t size = group.size();
  const int64_t most = std::max<int64_t>(kChunkBytes / 4 / size, 1);  // values of a process in a chunk
  for (int64_t begin = 0; begin < row.length(); begin += most * size) {
    const int64_t count = std::min(most * size, row.length() - begin);
    at::Tensor own = at::zeros({size, (count + size - 1) / size});
    at::Tensor flat = own.flatten();
    row.for_each_part(begin, count, [&](const at::Tensor& part, int64_t place) {
      flat.slice(0, place, place + part.numel()).copy_(part);
    });
    const at::Tensor sums = group.all_gather(tree_sum(group.exchange(own, kWhat)), kWhat).flatten();
    row.for_each_part(begin, count, [&](const at::Tensor& part, int64_t place) {
      part.copy_(sums.slice(0, place, place + part.numel()));
    });
  }
}

}  // namespace cohort::dist
