#include "cohort/ops/token_logprobs.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/ops/dispatch.h"
#include "cohort/ops/vocabulary_kernel.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kChunkElements = 112 << 20;  // products of the head held at once: 224 MiB of bfloat16
constexpr int64_t kScaledAtOnce = 1 << 15;     // elements that are worth a thread

/// A row's logits over its kept ids: the row itself, or a gathered copy in `buffer`.
struct KeptRow {
  float* logits;
  int64_t count;
  int64_t target;  // index of the token in `logits`
};

KeptRow kept_row(float* row, int64_t vocabulary, const TokenTargets& targets, int64_t index,
                 std::vector<float>& buffer) {
  const int32_t token = targets.token_ids[index];
  const std::vector<int32_t>* kept = targets.kept_ids.empty() ? nullptr : targets.kept_ids[index];
  if (kept == nullptr || kept->empty()) return {row, vocabulary, token};
  buffer.resize(kept->size());
  for (size_t i = 0; i < kept->size(); ++i) buffer[i] = row[(*kept)[i]];
  const auto found = std::lower_bound(kept->begin(), kept->end(), token);
  COHORT_CHECK(found != kept->end() && *found == token, "token ", token, " is not in its kept set");
  return {buffer.data(), static_cast<int64_t>(kept->size()), found - kept->begin()};
}

/// A row of the head's products as logits: the row itself where they are the same, else in `buffer`.
template <typename T>
float* logits_of(T* products, int64_t vocabulary, const LogitOptions& options, std::vector<float>& buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (options.temperature == 1.0 && options.softcap == 0.0) return products;
  }
  buffer.resize(vocabulary);
  COHORT_CALL_KERNEL(scale_logits(static_cast<const T*>(products), buffer.data(), vocabulary,
                                  static_cast<float>(options.softcap),
                                  static_cast<float>(options.temperature)));
  return buffer.data();
}

/// What the backward of a pass needs beside its rows.
struct HeadPass : torch::CustomClassHolder {
  HeadPass(const Linear* head, const TokenTargets* targets, LogitOptions options, AdapterUse use)
      : head(head), targets(targets), options(options), use(std::move(use)) {}
  const Linear* head;
  const TokenTargets* targets;
  LogitOptions options;
  AdapterUse use;
  at::Tensor log_sum_exps;   // [M] float32
  at::Tensor last_products;  // of the last chunk, which the backward begins with
};

/// Rows of each chunk: the fewest chunks that logit_rows_at_once allows, of one size, so that the last one,
/// which is kept, is a large one.
int64_t rows_of_chunk(int64_t num_rows, int64_t vocabulary) {
  const int64_t most = logit_rows_at_once(vocabulary);
  const int64_t chunks = std::max<int64_t>(1, (num_rows + most - 1) / most);
  return std::max<int64_t>(1, (num_rows + chunks - 1) / chunks);
}

TokenLogprobs forward_chunks(const at::Tensor& hidden, HeadPass& pass) {
  const Linear& head = *pass.head;
  const int64_t num_rows = hidden.size(0), vocabulary = head.out_features();
  TokenLogprobs result{at::empty({num_rows}, at::kFloat), at::empty({num_rows}, at::kFloat)};
  pass.log_sum_exps = at::empty({num_rows}, at::kFloat);
  float* logprobs = result.logprobs.mutable_data_ptr<float>();
  float* entropies = result.entropies.mutable_data_ptr<float>();
  float* log_sum_exps = pass.log_sum_exps.mutable_data_ptr<float>();
  const int64_t step = rows_of_chunk(num_rows, vocabulary);
  for (int64_t first = 0; first < num_rows; first += step) {
    const int64_t count = std::min(step, num_rows - first);
    pass.last_products = at::Tensor();  // before the next ones take their place
    pass.last_products = head.product(hidden.narrow(0, first, count), pass.use);
    dispatch_float(hidden, [&]<typename T>() {
      T* products = pass.last_products.mutable_data_ptr<T>();
      at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
        std::vector<float> buffer, gathered;
        for (int64_t i = begin; i < end; ++i) {
          float* logits = logits_of(products + i * vocabulary, vocabulary, pass.options, buffer);
          const KeptRow row = kept_row(logits, vocabulary, *pass.targets, first + i, gathered);
          const float lse =
              COHORT_CALL_KERNEL(log_sum_exp_and_entropy(row.logits, row.count, entropies + first + i));
          log_sum_exps[first + i] = lse;
          logprobs[first + i] = row.logits[row.target] - lse;
        }
      });
    });
  }
  return result;
}

/// What the outputs' gradients are, by row; null where none arrived.
struct OutputGradients {
  const float* logprobs;
  const float* entropies;
  const float* entropy_values;  // of the forward
  const float* log_sum_exps;    // of the forward
};

/// Turns the logits over the kept ids into the gradient of log-probability and entropy by them, weighed by
/// what arrived for the row.
void kept_gradient(const KeptRow& row, int64_t index, float temperature, const OutputGradients& grads) {
  const float lse = grads.log_sum_exps[index];
  const float coefficient = grads.logprobs == nullptr ? 0.0f : -(grads.logprobs[index] / temperature);
  if (grads.entropies == nullptr) {
    COHORT_CALL_KERNEL(softmax_gradient(row.logits, row.count, lse, row.target, coefficient));
    return;
  }
  COHORT_CALL_KERNEL(softmax_entropy_gradient(row.logits, row.count, lse, row.target, coefficient,
                                              grads.entropy_values[index],
                                              grads.entropies[index] / temperature));
}

/// Turns the logits of one row into the gradient by the head's products.
void row_gradient(float* logits, int64_t vocabulary, const TokenTargets& targets, int64_t index,
                  const LogitOptions& options, const OutputGradients& grads, std::vector<float>& buffer,
                  std::vector<float>& slopes) {
  const KeptRow row = kept_row(logits, vocabulary, targets, index, buffer);
  if (options.softcap > 0.0) {
    slopes.resize(row.count);
    const auto inverse_cap = static_cast<float>(options.temperature / options.softcap);
    for (int64_t i = 0; i < row.count; ++i) {
      const float t = row.logits[i] * inverse_cap;
      slopes[i] = 1.0f - t * t;
    }
  }
  kept_gradient(row, index, static_cast<float>(options.temperature), grads);
  for (size_t i = 0; i < slopes.size(); ++i) row.logits[i] *= slopes[i];
  if (row.logits == logits) return;
  const std::vector<int32_t>& kept = *targets.kept_ids[index];
  std::fill_n(logits, vocabulary, 0.0f);
  for (size_t i = 0; i < kept.size(); ++i) logits[kept[i]] = buffer[i];
}

class TokenLogprobsFunction : public torch::autograd::Function<TokenLogprobsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden,
                               const at::Tensor& trained_leaf, const Linear* head,
                               const TokenTargets* targets, LogitOptions options, AdapterUse use) {
    (void)trained_leaf;
    context->set_materialize_grads(false);
    const auto pass = c10::make_intrusive<HeadPass>(head, targets, options, std::move(use));
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    const TokenLogprobs result = forward_chunks(hidden, *pass);
    context->save_for_backward({hidden, result.entropies});
    return {result.logprobs, result.entropies};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& hidden = saved[0];
    const auto capsule = context->saved_data["pass"].toCapsule();
    auto& pass = static_cast<HeadPass&>(*capsule);
    const Linear& head = *pass.head;
    for (at::Tensor& grad : grads) grad = grad.defined() ? grad.contiguous() : grad;
    const auto data_of = [](const at::Tensor& x) {
      return x.defined() ? x.const_data_ptr<float>() : nullptr;
    };
    const OutputGradients arrived{data_of(grads[0]), data_of(grads[1]), data_of(saved[1]),
                                  data_of(pass.log_sum_exps)};
    const int64_t num_rows = hidden.size(0), vocabulary = head.out_features(),
                  step = rows_of_chunk(num_rows, vocabulary);
    const at::Tensor weight = head.weight_for_backward();
    at::Tensor grad_hidden = at::empty_like(hidden);
    for (int64_t chunk = (num_rows + step - 1) / step; chunk-- > 0;) {
      const int64_t first = chunk * step, count = std::min(step, num_rows - first);
      const at::Tensor rows = hidden.narrow(0, first, count);
      at::Tensor grad = std::exchange(pass.last_products, at::Tensor());
      if (!grad.defined()) grad = head.product(rows, pass.use);
      dispatch_float(hidden, [&]<typename T>() {
        T* products = grad.mutable_data_ptr<T>();
        at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
          std::vector<float> buffer, gathered, slopes;
          for (int64_t i = begin; i < end; ++i) {
            T* row = products + i * vocabulary;
            float* logits = logits_of(row, vocabulary, pass.options, buffer);
            row_gradient(logits, vocabulary, *pass.targets, first + i, pass.options, arrived, gathered,
                         slopes);
            if (static_cast<void*>(row) != logits) COHORT_CALL_KERNEL(round_row(logits, row, vocabulary));
          }
        });
      });
      grad_hidden.narrow(0, first, count).copy_(head.backward(grad, rows, weight, pass.use));
    }
    return {grad_hidden, {}, {}, {}, {}, {}};
  }
};

/// Plain formula for float64 and other devices; holds all logits.
TokenLogprobs aten_token_logprobs(const at::Tensor& hidden, const Linear& head, const TokenTargets& targets,
                                  const LogitOptions& options, const AdapterUse& use) {
  const int64_t num_rows = hidden.size(0);
  at::Tensor logits = scaled_logits(head.forward(hidden, use), options);
  if (!targets.kept_ids.empty()) {
    at::Tensor removed = at::zeros(logits.sizes(), at::kBool);
    for (int64_t i = 0; i < num_rows; ++i) {
      const std::vector<int32_t>* kept = targets.kept_ids[i];
      if (kept == nullptr || kept->empty()) continue;
      const at::Tensor ids = at::tensor(*kept, at::kInt).to(at::kLong);
      removed[i].fill_(true).index_fill_(0, ids, false);
    }
    logits = logits.masked_fill(removed.to(logits.device()), -std::numeric_limits<double>::infinity());
  }
  const at::Tensor ids = at::tensor(targets.token_ids, at::kInt).to(logits.device(), at::kLong);
  const at::Tensor all = logits.log_softmax(-1);
  const at::Tensor finite = all.masked_fill(all.isinf(), 0.0);  // 0 * -inf would have no gradient
  return {all.gather(1, ids.unsqueeze(1)).squeeze(1), -(all.exp() * finite).sum(-1)};
}

}  // namespace

int64_t logit_rows_at_once(int64_t vocabulary) {
  const int64_t rows = std::clamp<int64_t>(kChunkElements / vocabulary, 64, 2048);
  return rows / 64 * 64;
}

at::Tensor scaled_logits(const at::Tensor& products, const LogitOptions& options) {
  if (has_cpu_kernel(products) && !at::GradMode::is_enabled()) {
    const at::Tensor rows = products.contiguous();
    at::Tensor logits = at::empty(rows.sizes(), at::kFloat);
    float* data = logits.mutable_data_ptr<float>();
    dispatch_float(rows, [&]<typename T>() {
      at::parallel_for(0, rows.numel(), kScaledAtOnce, [&](int64_t begin, int64_t end) {
        COHORT_CALL_KERNEL(scale_logits(rows.const_data_ptr<T>() + begin, data + begin, end - begin,
                                        static_cast<float>(options.softcap),
                                        static_cast<float>(options.temperature)));
      });
    });
    return logits;
  }
  at::Tensor logits = products.scalar_type() == at::kDouble ? products : products.to(at::kFloat);
  if (options.softcap > 0.0) logits = logits.div(options.softcap).tanh() * options.softcap;
  return options.temperature == 1.0 ? logits : logits.div(options.temperature);
}

TokenLogprobs token_logprobs(const at::Tensor& hidden, const Linear& head, const TokenTargets& targets,
                             const LogitOptions& options, const AdapterUse& use) {
  check_shape(hidden, {static_cast<int64_t>(targets.token_ids.size()), head.weight().size(1)},
              "token_logprobs: hidden");
  COHORT_CHECK(targets.kept_ids.empty() || targets.kept_ids.size() == targets.token_ids.size());
  if (!has_cpu_kernel(hidden)) return aten_token_logprobs(hidden, head, targets, options, use);
  if (!at::GradMode::is_enabled()) {
    HeadPass pass(&head, &targets, options, use);
    return forward_chunks(hidden, pass);
  }
  const auto results =
      TokenLogprobsFunction::apply(hidden, head.trained_leaf(use), &head, &targets, options, use);
  return {results[0], results[1]};
}

}  // namespace cohort
