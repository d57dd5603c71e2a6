// A small batch with every input of the loss, off-policy and without symmetries.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "cohort/objectives/loss.h"
#include "cohort/objectives/whole_batch.h"
#include "tests/objectives/doubles.h"

namespace cohort {

/// [M] numbers in (low, high) without a pattern.
inline at::Tensor scattered(int64_t size, double phase, double low, double high) {
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double x = std::sin(12.9898 * (static_cast<double>(i) + phase)) * 43758.5453;
    values.push_back(low + (high - low) * (x - std::floor(x)));
  }
  return doubles(values);
}

/// Completions [begin, end) of a batch as a micro-batch.
inline LossInput completions_of(const LossInput& batch, int64_t begin, int64_t end) {
  std::vector<int64_t> chosen(end - begin);
  std::iota(chosen.begin(), chosen.end(), begin);
  return select_completions(batch, chosen);
}

/// Six completions of two groups, one of them without tokens.
inline LossInput small_batch() {
  LossInput input;
  input.lengths = {4, 1, 3, 2, 0, 5};
  input.group_ends = {3, 6};
  input.turn_lengths = {2, 2, 1, 3, 1, 1, 2, 3};
  const int64_t num_tokens = 15;
  input.policy_logprobs = scattered(num_tokens, 1, -3, -0.1);
  input.old_logprobs = input.policy_logprobs + scattered(num_tokens, 2, -0.5, 0.5);
  input.sampler_logprobs = input.old_logprobs + scattered(num_tokens, 3, -0.4, 0.4);
  input.ref_logprobs = input.policy_logprobs + scattered(num_tokens, 4, -1, 1);
  input.entropies = scattered(num_tokens, 5, 0, 2);
  input.values = scattered(num_tokens, 6, -1, 1);
  input.old_values = input.values + scattered(num_tokens, 7, -0.5, 0.5);
  input.returns = scattered(num_tokens, 8, -1, 1);
  input.advantages = doubles({1.2, -0.7, -0.5, 0.9, -1.3, -0.4});
  input.rewards = doubles({1, 0, 0, 1, 0, 0});
  return input;
}

}  // namespace cohort
