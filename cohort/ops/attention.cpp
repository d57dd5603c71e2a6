#include "cohort/ops/attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/ops/attention_kernel.h"
#include "cohort/ops/dispatch.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

AttentionShape shape_of(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  return {.num_heads = q.size(1),
          .num_kv_heads = k.size(1),
          .head_dim = q.size(2),
          .scale = static_cast<float>(options.scale),
          .window = options.window,
          .softcap = static_cast<float>(options.softcap),
          .key_row_stride = k.stride(0),
          .key_head_stride = k.stride(1),
          .is_paged = false};
}

Attended forward_rows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const AttentionPlan& plan, const AttentionShape& shape) {
  Attended attended{at::zeros_like(q), at::zeros({q.size(0), q.size(1)}, at::kFloat)};
  dispatch_float(q, [&]<typename T>() {
    COHORT_CALL_KERNEL(attention_kernel<T>(plan, shape, q.const_data_ptr<T>(), k.const_data_ptr<T>(),
                                           v.const_data_ptr<T>(), attended.rows.mutable_data_ptr<T>(),
                                           attended.log_sum_exp.mutable_data_ptr<float>()));
  });
  return attended;
}

/// What the backward needs beside tensors; the caller keeps the plan.
struct AttentionPass : torch::CustomClassHolder {
  AttentionPass(const AttentionPlan* plan, const AttentionOptions& options) : plan(plan), options(options) {}
  const AttentionPlan* plan;
  AttentionOptions options;
};

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const AttentionPlan* plan, AttentionOptions options,
                            const Attended& known) {
    const Attended attended =
        known.rows.defined() ? known : forward_rows(q, k, v, *plan, shape_of(q, k, options));
    context->save_for_backward({q, k, v, attended.rows, attended.log_sum_exp});
    context->saved_data["pass"] =
        c10::IValue::make_capsule(c10::make_intrusive<AttentionPass>(plan, options));
    return attended.rows;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3];
    const auto capsule = context->saved_data["pass"].toCapsule();
    const auto& pass = static_cast<const AttentionPass&>(*capsule);
    const at::Tensor grad_out = grads[0].contiguous();
    at::Tensor grad_q = at::zeros_like(q);
    at::Tensor grad_k = at::zeros(k.sizes(), at::kFloat), grad_v = at::zeros(v.sizes(), at::kFloat);
    dispatch_float(q, [&]<typename T>() {
      COHORT_CALL_KERNEL(attention_backward_kernel<T>(
          *pass.plan, shape_of(q, k, pass.options), q.const_data_ptr<T>(), k.const_data_ptr<T>(),
          v.const_data_ptr<T>(), out.const_data_ptr<T>(), saved[4].const_data_ptr<float>(),
          grad_out.const_data_ptr<T>(), grad_q.mutable_data_ptr<T>(), grad_k.mutable_data_ptr<float>(),
          grad_v.mutable_data_ptr<float>()));
    });
    return {grad_q,      grad_k.to(k.scalar_type()), grad_v.to(v.scalar_type()), at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

int64_t num_keys(const AttentionSequence& sequence) { return sequence.first_position + sequence.num_queries; }

/// Sequences that the plain formula takes at once, filled up to the most queries and keys of one of them.
struct Batch {
  std::vector<const AttentionSequence*> sequences;
  int64_t num_queries = 0;
  int64_t num_keys = 0;
};

/// Sequences of like size, the largest first, so that at most half of a batch's scores are filled up.
std::vector<Batch> batches_of(const AttentionPlan& plan, int64_t num_heads) {
  constexpr int64_t kScoresAtOnce = 1 << 27;
  std::vector<const AttentionSequence*> sequences;
  for (const AttentionSequence& sequence : plan.sequences) {
    if (sequence.num_queries > 0) sequences.push_back(&sequence);
  }
  std::stable_sort(sequences.begin(), sequences.end(), [](const auto* a, const auto* b) {
    return std::pair(a->num_queries, num_keys(*a)) > std::pair(b->num_queries, num_keys(*b));
  });
  std::vector<Batch> batches;
  for (const AttentionSequence* sequence : sequences) {
    const int64_t own = sequence->num_queries * num_keys(*sequence);
    const auto fits = [&](const Batch& batch) {
      const int64_t filled = batch.num_queries * std::max(batch.num_keys, num_keys(*sequence));
      return 2 * own >= filled && (std::ssize(batch.sequences) + 1) * filled * num_heads <= kScoresAtOnce;
    };
    if (batches.empty() || !fits(batches.back())) batches.emplace_back();
    Batch& batch = batches.back();
    batch.sequences.push_back(sequence);
    batch.num_queries = std::max(batch.num_queries, sequence->num_queries);
    batch.num_keys = std::max(batch.num_keys, num_keys(*sequence));
  }
  return batches;
}

/// Rows and positions of a batch, on the device of `q`.
struct BatchRows {
  at::Tensor queries;    // [B * num_queries] rows of q; those filled up are the row behind the last
  at::Tensor positions;  // [B, 1, 1, num_queries, 1]
  at::Tensor keys;       // [B * num_keys]; those filled up, of the first row, lie behind all positions
};

BatchRows rows_of(const Batch& batch, const AttentionPlan& plan, const at::Tensor& q) {
  std::vector<int64_t> queries, positions, keys;
  for (const AttentionSequence* sequence : batch.sequences) {
    for (int64_t i = 0; i < batch.num_queries; ++i) {
      const bool is_there = i < sequence->num_queries;
      queries.push_back(is_there ? sequence->query_begin + i : q.size(0));
      positions.push_back(is_there ? sequence->first_position + i : 0);
    }
    const size_t first = keys.size(), last = first + num_keys(*sequence);
    for (int64_t r = sequence->range_begin; r < sequence->range_end; ++r) {
      const RowRange& range = plan.ranges[r];
      for (int64_t row = range.begin; row < range.end && keys.size() < last; ++row) keys.push_back(row);
    }
    keys.resize(first + batch.num_keys, keys[first]);
  }
  const auto on_device = [&](const std::vector<int64_t>& values) {
    return at::tensor(values).to(q.device());
  };
  return {on_device(queries), on_device(positions).view({-1, 1, 1, batch.num_queries, 1}), on_device(keys)};
}

/// The formula as it is written in papers, for sequences of like size at once.
at::Tensor aten_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const AttentionPlan& plan, const AttentionOptions& options) {
  const int64_t num_kv_heads = k.size(1), repeat = q.size(1) / num_kv_heads, dim = q.size(2);
  const at::ScalarType wide = q.scalar_type() == at::kBFloat16 ? at::kFloat : q.scalar_type();
  const at::Tensor padded = at::constant_pad_nd(q, {0, 0, 0, 0, 0, 1});
  at::Tensor out = at::zeros_like(padded);
  for (const Batch& batch : batches_of(plan, q.size(1))) {
    const BatchRows rows = rows_of(batch, plan, q);
    const int64_t count = std::ssize(batch.sequences);
    const at::Tensor queries = padded.index_select(0, rows.queries)
                                   .view({count, batch.num_queries, num_kv_heads, repeat, dim})
                                   .permute({0, 2, 3, 1, 4})
                                   .reshape({count, num_kv_heads, repeat * batch.num_queries, dim});
    const auto heads = [&](const at::Tensor& all) {
      return all.index_select(0, rows.keys).view({count, batch.num_keys, num_kv_heads, dim}).transpose(1, 2);
    };
    at::Tensor scores = at::matmul(queries.to(wide), heads(k).to(wide).transpose(2, 3)) * options.scale;
    scores = scores.view({count, num_kv_heads, repeat, batch.num_queries, batch.num_keys});
    if (options.softcap > 0.0) scores = (scores / options.softcap).tanh() * options.softcap;
    const at::Tensor key_positions = at::arange(batch.num_keys, rows.keys.options());
    at::Tensor hidden = key_positions > rows.positions;
    if (options.window > 0) hidden = hidden.logical_or(key_positions <= rows.positions - options.window);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    const at::Tensor attended = at::matmul(scores.softmax(-1).flatten(2, 3), heads(v).to(wide))
                                    .view({count, num_kv_heads, repeat, batch.num_queries, dim})
                                    .permute({0, 3, 1, 2, 4})
                                    .reshape({count * batch.num_queries, q.size(1), dim});
    out = out.index_copy(0, rows.queries, attended.to(q.scalar_type()));
  }
  return out.narrow(0, 0, q.size(0));
}

}  // namespace

void AttentionPlan::add_sequence(int64_t query_begin, int64_t num_queries, int64_t first_position,
                                 const std::vector<RowRange>& key_ranges) {
  if (group_begin.empty()) begin_group();
  int64_t num_keys = 0;
  for (const RowRange& range : key_ranges) num_keys += range.size();
  COHORT_CHECK(num_keys >= first_position + num_queries, num_keys, " key rows for ", first_position, " + ",
               num_queries, " positions");
  const auto range_begin = static_cast<int64_t>(ranges.size());
  ranges.insert(ranges.end(), key_ranges.begin(), key_ranges.end());
  sequences.push_back(
      {query_begin, num_queries, first_position, range_begin, static_cast<int64_t>(ranges.size())});
}

AttentionPlan AttentionPlan::of_queries(const std::vector<RowRange>& rows) const {
  AttentionPlan part;
  part.ranges = ranges;
  auto group = group_begin.begin();
  for (int64_t i = 0; i < std::ssize(sequences); ++i) {
    for (; group != group_begin.end() && *group == i; ++group) part.begin_group();
    const AttentionSequence& sequence = sequences[i];
    int64_t before = 0;
    for (const RowRange& range : rows) {
      const int64_t first = std::max(range.begin, sequence.query_begin),
                    end = std::min(range.end, sequence.query_begin + sequence.num_queries);
      if (first < end) {
        part.sequences.push_back({before + first - range.begin, end - first,
                                  sequence.first_position + first - sequence.query_begin,
                                  sequence.range_begin, sequence.range_end});
      }
      before += range.size();
    }
  }
  return part;
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                  const AttentionOptions& options, const Attended& known) {
  check_shape(q, {-1, -1, -1}, "attend: q");
  check_shape(k, {-1, -1, q.size(2)}, "attend: k");
  check_shape(v, {k.size(0), k.size(1), k.size(2)}, "attend: v");
  COHORT_CHECK(q.size(1) % k.size(1) == 0, q.size(1), " query heads over ", k.size(1), " key heads");
  if (!has_cpu_kernel(q)) return aten_attend(q, k, v, plan, options);
  COHORT_CHECK(q.is_contiguous() && k.stride(2) == 1 && k.strides() == v.strides());
  if (at::GradMode::is_enabled()) return AttentionFunction::apply(q, k, v, &plan, options, known);
  return known.rows.defined() ? known.rows : forward_rows(q, k, v, plan, shape_of(q, k, options)).rows;
}

int64_t page_head_elements(int64_t head_dim) { return kKeyBlock * padded_head_dim(head_dim); }

at::Tensor make_pages(int64_t num_pages, int64_t num_kv_heads, int64_t head_dim,
                      const at::TensorOptions& options) {
  // Not zeroed: attention reads only what was written.
  return at::empty({num_pages, num_kv_heads, page_head_elements(head_dim)}, options);
}

void write_pages(const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& key_pages, const at::Tensor& value_pages) {
  const at::Tensor keys = k.contiguous(), values = v.contiguous();
  check_shape(key_pages, {-1, keys.size(1), page_head_elements(keys.size(2))}, "write_pages: key_pages");
  COHORT_CHECK(rows.size(0) <= keys.size(0) && keys.sizes() == values.sizes());
  const AttentionShape shape = shape_of(keys, keys, {});
  dispatch_float(keys, [&]<typename T>() {
    COHORT_CALL_KERNEL(write_pages(shape, rows.const_data_ptr<int64_t>(), rows.size(0),
                                   keys.const_data_ptr<T>(), values.const_data_ptr<T>(),
                                   key_pages.mutable_data_ptr<T>(), value_pages.mutable_data_ptr<T>()));
  });
}

Attended attend_pages(const at::Tensor& q, const at::Tensor& key_pages, const at::Tensor& value_pages,
                      const AttentionPlan& plan, const AttentionOptions& options) {
  check_shape(q, {-1, -1, -1}, "attend_pages: q");
  check_shape(key_pages, {-1, -1, page_head_elements(q.size(2))}, "attend_pages: key_pages");
  check_shape(value_pages, {key_pages.size(0), key_pages.size(1), key_pages.size(2)},
              "attend_pages: value_pages");
  COHORT_CHECK(q.is_contiguous() && q.size(1) % key_pages.size(1) == 0);
  for (const RowRange& range : plan.ranges) {
    COHORT_CHECK(range.begin % kKeyBlock == 0 && range.end == range.begin + kKeyBlock, "rows ", range.begin,
                 " to ", range.end, " are not a page");
  }
  AttentionShape shape = shape_of(q, key_pages, options);
  shape.is_paged = true;
  return forward_rows(q, key_pages, value_pages, plan, shape);
}

}  // namespace cohort
