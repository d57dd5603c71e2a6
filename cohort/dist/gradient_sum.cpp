#include "cohort/dist/gradient_sum.h"

#include <bit>

#include "cohort/core/error.h"

namespace cohort::dist {

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

}  // namespace cohort::dist
