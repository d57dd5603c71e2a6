#include "cohort/ops/moe.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/ops/dispatch.h"
#include "cohort/ops/vocabulary_kernel.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Which experts the rows chose. A slot is a place in the order by expert, then row.
struct Assignment {
  at::Tensor experts;               // [N, k] int64, ascending in a row
  at::Tensor slots;                 // [N, k] int64
  at::Tensor rows;                  // [N k] int64: the row of each slot
  std::vector<int64_t> slot_begin;  // [E + 1]
};

at::Tensor softmax_rows(const at::Tensor& logits) {
  const at::Tensor wide = logits.to(at::kFloat).contiguous();
  at::Tensor probabilities = at::empty_like(wide);
  const int64_t width = wide.size(1);
  const float* in = wide.const_data_ptr<float>();
  float* out = probabilities.mutable_data_ptr<float>();
  for (int64_t row = 0; row < wide.size(0); ++row) {
    const float lse = COHORT_CALL_KERNEL(log_sum_exp(in + row * width, width));
    COHORT_CALL_KERNEL(probabilities(in + row * width, width, lse, out + row * width));
  }
  return probabilities;
}

class SoftmaxFunction : public torch::autograd::Function<SoftmaxFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits) {
    const at::Tensor probabilities = softmax_rows(logits);
    context->save_for_backward({probabilities});
    context->saved_data["dtype"] = logits.scalar_type();
    return probabilities;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor probabilities = context->get_saved_variables()[0];
    const at::Tensor weighted = grads[0] * probabilities;
    const at::Tensor grad = weighted - probabilities * weighted.sum(-1, true);
    return {grad.to(context->saved_data["dtype"].toScalarType())};
  }
};

/// Router probabilities [N, E]: float32, or float64 in tests.
at::Tensor router_probabilities(const at::Tensor& logits) {
  if (!has_cpu_kernel(logits)) {
    return logits.softmax(-1, logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  }
  if (!at::GradMode::is_enabled()) return softmax_rows(logits);
  return SoftmaxFunction::apply(logits);
}

/// The k most probable experts of a row, ties by lower id; written ascending.
template <typename T>
void choose_experts(const T* probabilities, int64_t num_experts, int64_t k, int64_t* chosen) {
  std::vector<int64_t> order(num_experts);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  std::copy_n(order.begin(), k, chosen);
  std::sort(chosen, chosen + k);
}

Assignment assign(const at::Tensor& probabilities, int64_t k) {
  const at::Tensor table = probabilities.detach().cpu().contiguous();
  const int64_t num_rows = table.size(0), num_experts = table.size(1);
  Assignment result;
  result.experts = at::empty({num_rows, k}, at::kLong);
  auto* experts = result.experts.mutable_data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES(table.scalar_type(), "choose_experts", [&] {
    const auto* data = table.const_data_ptr<scalar_t>();
    for (int64_t row = 0; row < num_rows; ++row) {
      choose_experts(data + row * num_experts, num_experts, k, experts + row * k);
    }
  });
  result.slot_begin.assign(num_experts + 1, 0);
  for (int64_t i = 0; i < num_rows * k; ++i) ++result.slot_begin[experts[i] + 1];
  std::partial_sum(result.slot_begin.begin(), result.slot_begin.end(), result.slot_begin.begin());
  std::vector<int64_t> next(result.slot_begin.begin(), result.slot_begin.end() - 1);
  result.slots = at::empty({num_rows, k}, at::kLong);
  result.rows = at::empty({num_rows * k}, at::kLong);
  for (int64_t i = 0; i < num_rows * k; ++i) {
    const int64_t slot = next[experts[i]]++;
    result.slots.mutable_data_ptr<int64_t>()[i] = slot;
    result.rows.mutable_data_ptr<int64_t>()[slot] = i / k;
  }
  for (at::Tensor* tensor : {&result.experts, &result.slots, &result.rows}) {
    *tensor = tensor->to(probabilities.device());
  }
  return result;
}

/// sum over j of values[slots[:, j]], each times weights[:, j] where there are any: [N, H] float32 (float64).
/// Products and sums of single elements: a row's bits do not depend on the others.
at::Tensor sum_slots(const at::Tensor& values, const at::Tensor& slots, const at::Tensor& weights) {
  const at::ScalarType wide = values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor total;
  for (int64_t j = 0; j < slots.size(1); ++j) {
    at::Tensor part = values.index_select(0, slots.select(1, j)).to(wide);
    if (weights.defined()) part = part * weights.select(1, j).unsqueeze(1);
    total = total.defined() ? total + part : part;
  }
  return total;
}

/// The rows of x in the order of the slots.
class SpreadFunction : public torch::autograd::Function<SpreadFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& rows,
                            const at::Tensor& slots) {
    context->save_for_backward({slots});
    return x.index_select(0, rows);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor grad = sum_slots(grads[0], context->get_saved_variables()[0], {});
    return {grad.to(grads[0].scalar_type()), {}, {}};
  }
};

/// The weighted sum of each row's slots, in the dtype of `values`.
class CombineFunction : public torch::autograd::Function<CombineFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& weights,
                            const at::Tensor& rows, const at::Tensor& slots) {
    context->save_for_backward({values, weights, rows, slots});
    return sum_slots(values, slots, weights).to(values.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &values = saved[0], &weights = saved[1], &rows = saved[2], &slots = saved[3];
    const at::Tensor grad_rows = grads[0].to(weights.scalar_type()).index_select(0, rows);
    const at::Tensor slot_weights =
        at::empty({rows.size(0)}, weights.options()).index_put({slots.flatten()}, weights.flatten());
    const at::Tensor grad_values = (grad_rows * slot_weights.unsqueeze(1)).to(values.scalar_type());
    const at::Tensor dots = (grad_rows * values.to(weights.scalar_type())).sum(-1);
    return {grad_values, dots.index_select(0, slots.flatten()).view(slots.sizes()), {}, {}};
  }
};

/// Passes router probabilities on, and adds the gradient of the balance loss to theirs.
class BalanceFunction : public torch::autograd::Function<BalanceFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& probabilities,
                            const at::Tensor& experts, RouterBalance* balance) {
    const int64_t num_experts = probabilities.size(1);
    at::Tensor slope = at::zeros_like(probabilities);
    for (const BalancedRows& rows : balance->sequences) {
      const auto count = static_cast<double>(rows.end - rows.begin);
      const at::Tensor chosen = experts.slice(0, rows.begin, rows.end).flatten();
      const at::Tensor share = chosen.bincount({}, num_experts).to(probabilities.scalar_type()) / count;
      const at::Tensor mean = probabilities.slice(0, rows.begin, rows.end).mean(0);
      const double scale = rows.weight * static_cast<double>(num_experts);
      balance->loss += scale * share.dot(mean).item<double>();
      slope.slice(0, rows.begin, rows.end).copy_((share * (scale / count)).unsqueeze(0));
    }
    context->save_for_backward({slope});
    return probabilities.clone();
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0] + context->get_saved_variables()[0], {}, {}};
  }
};

at::Tensor expert_weights(const at::Tensor& probabilities, const Assignment& assignment, bool normalised) {
  at::Tensor weights = probabilities.gather(1, assignment.experts);
  if (!normalised) return weights;
  at::Tensor total = weights.select(1, 0);
  for (int64_t j = 1; j < weights.size(1); ++j) total = total + weights.select(1, j);
  return weights / total.unsqueeze(1);
}

}  // namespace

at::Tensor moe(const at::Tensor& x, const Linear& router, const std::vector<Expert>& experts,
               const MoeOptions& options, RouterBalance* balance) {
  COHORT_CHECK(router.out_features() == static_cast<int64_t>(experts.size()));
  if (x.size(0) == 0) return x;
  at::Tensor probabilities = router_probabilities(router.forward(x));
  const Assignment assignment = assign(probabilities, options.num_experts_per_tok);
  if (balance != nullptr && at::GradMode::is_enabled()) {
    probabilities = BalanceFunction::apply(probabilities, assignment.experts, balance);
  }
  const at::Tensor weights = expert_weights(probabilities, assignment, options.norm_topk_prob);
  const at::Tensor spread = SpreadFunction::apply(x, assignment.rows, assignment.slots);
  const InputOp activate = gated_input(options.activation);
  std::vector<at::Tensor> outputs;
  for (size_t e = 0; e < experts.size(); ++e) {
    const int64_t begin = assignment.slot_begin[e], end = assignment.slot_begin[e + 1];
    if (begin == end) continue;
    const at::Tensor gate_up = experts[e].gate_up.forward(spread.slice(0, begin, end));
    outputs.push_back(experts[e].down.forward(gate_up, activate));
  }
  return CombineFunction::apply(at::cat(outputs), weights, assignment.rows, assignment.slots);
}

}  // namespace cohort
