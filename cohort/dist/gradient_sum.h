// Sums of gradients in an order that no number of processes changes.
//
// A mini-batch is cut into slots. The gradient of a slot is added up by one process, and slots are added as a
// binary tree: neighbours first, then pairs of them, and so on. A process has 2^k slots that follow one
// another, which is a subtree of its own; the processes add the rest of the tree.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cohort/dist/group.h"

namespace cohort::dist {

/// How the slots of an update are shared out: `num_slots` of all, those of a process in a row.
struct SlotPlan {
  int64_t num_slots = 1;
  int64_t first = 0, count = 1;  ///< of this process

  /// `num_slots` 0: one for each process. Throws ConfigError unless it is the number of processes times a
  /// power of two.
  static SlotPlan of(const Group& group, int64_t num_slots);

  /// Gradients that SlotSums holds at once, besides those in the leaves.
  int64_t num_copies() const;
};

/// [n] the sum of `rows` [m, n] as a tree.
at::Tensor tree_sum(at::Tensor rows);

/// Adds up the gradients of a process's slots.
class SlotSums {
 public:
  /// Leaves with gradients that are zero.
  explicit SlotSums(std::vector<at::Tensor> leaves) : leaves_(std::move(leaves)) {}

  /// Takes what the leaves' gradients are as those of a slot. Gradients are zero afterwards, or, after the
  /// last slot, missing.
  void end_slot(bool is_last);

  /// Gives the leaves the sum. The number of slots was a power of two.
  void finish();

 private:
  struct Node {
    int64_t level;
    std::vector<at::Tensor> gradients;
  };

  std::vector<at::Tensor> leaves_;
  std::vector<Node> nodes_;
};

}  // namespace cohort::dist
