// A mixture of experts in place of the MLP: a router picks the experts of every row by itself, so that a
// row's result does not depend on the other rows. Legend: N rows, H hidden size, E experts, k experts a row.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/ops/gated_activation.h"
#include "cohort/ops/linear.h"

namespace cohort {

struct Expert {
  Linear gate_up;  ///< H -> 2F
  Linear down;     ///< F -> H
};

struct MoeOptions {
  int64_t num_experts_per_tok = 1;
  bool norm_topk_prob = false;  ///< the weights of a row's experts are divided by their sum
  Activation activation = Activation::kSilu;
};

/// Rows [begin, end) that balance the experts among themselves.
struct BalancedRows {
  int64_t begin;
  int64_t end;
  double weight;  ///< of this sequence in the loss
};

/// The load-balancing loss of a batch: sum over sequences of weight * E * sum_e f_e P_e, with f_e the choices
/// of expert e per row and P_e its mean router probability (arXiv:2101.03961 eq. 4, by sequence as in
/// arXiv:2412.19437 eq. 17, so that it does not depend on how a batch is cut).
struct RouterBalance {
  std::vector<BalancedRows> sequences;
  double loss = 0.0;  ///< summed over the layers that were forwarded with a graph
};

/// sum over the k experts of a row of weight * expert(x). `x` [N, H] in the compute dtype -> the same.
/// Weights are the softmax over all E router logits (arXiv:2401.04088 section 2.1 where they are normalised),
/// of which the k largest count, ties by lower id; sums run in the order of the experts, in float32, rounded
/// once. Gradient to x, router and the chosen experts; where `balance` is given, its loss adds to the
/// router's gradient.
at::Tensor moe(const at::Tensor& x, const Linear& router, const std::vector<Expert>& experts,
               const MoeOptions& options, RouterBalance* balance = nullptr);

}  // namespace cohort
