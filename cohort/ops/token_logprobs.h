// Log-probabilities and entropies of given tokens under the head, without ever holding [tokens, vocabulary].
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "cohort/ops/linear.h"

namespace cohort {

struct TokenLogprobs {
  at::Tensor logprobs;   ///< [M] float32, natural log
  at::Tensor entropies;  ///< [M] float32, nats; over the kept set
};

/// The token of each row and, where a filter was on, the ids it was drawn from.
struct TokenTargets {
  std::vector<int32_t> token_ids;                     ///< [M]
  std::vector<const std::vector<int32_t>*> kept_ids;  ///< [M] ascending ids, or empty: the whole vocabulary
};

/// What the head's products go through: softcap * tanh(product / softcap) where softcap is not 0
/// (arXiv:2408.00118), then / temperature.
struct LogitOptions {
  double temperature = 1.0;
  double softcap = 0.0;
};

/// log softmax(logits)[token] and the entropy of softmax(logits) for every row of `hidden` [M, H]. Works
/// through chunks of rows, so that memory is O(chunk * vocabulary); the backward, one for both, computes the
/// logits of each chunk but the last again. Gradient of both to hidden and the head; `head` and `targets`
/// must stay alive until the backward is done. `use` says whether the head's adapters are on; it has no
/// dropout.
TokenLogprobs token_logprobs(const at::Tensor& hidden, const Linear& head, const TokenTargets& targets,
                             const LogitOptions& options, const AdapterUse& use = {});

/// How many rows of logits over `vocabulary` ids are held at once.
int64_t logit_rows_at_once(int64_t vocabulary);

/// Rows of logits as float32, capped and divided by the temperature; what the sampler draws from and what
/// token_logprobs sees. `products` [rows, V] of the head in the compute dtype -> [rows, V] float32 (float64
/// stays).
at::Tensor scaled_logits(const at::Tensor& products, const LogitOptions& options);

}  // namespace cohort
