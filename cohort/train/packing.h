// Ragged groups -> packed rows: a prompt's rows once, then the rows of each of its completions; no padding.
//
// A completion's first token is predicted by the prompt's last row, token j by the row of token j - 1: C
// tokens take C - 1 rows, and the last token is never forwarded.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/rl/types.h"

namespace cohort {

/// Completions of one prompt, to be forwarded together. Empty completions take no part. Borrows all of it.
struct PackGroup {
  const std::vector<int32_t>* prompt_ids;
  std::vector<const Completion*> completions;
};

/// The rows that a group takes.
int64_t num_rows(const PackGroup& group);

/// The rows that a pass forwards, by what they are.
struct RowCounts {
  int64_t prompt = 0;
  int64_t completion = 0;
  int64_t repeated_prompt = 0;  ///< prompt rows forwarded again because a group was cut

  void add(const RowCounts& other);
};

/// One forward pass. Heap-allocated: the graph holds pointers into it until the backward is done.
struct PackedBatch {
  DecoderInput input;
  at::Tensor logit_rows;                       ///< [M] int64: the result row that predicts each token
  TokenTargets targets;                        ///< [M] tokens, completion after completion
  std::vector<const Completion*> completions;  ///< whose tokens they are, in order
  std::vector<RowRange> completion_rows;       ///< the rows of each
  RowCounts rows;
  RouterBalance balance;

  /// Asks the forward for the load-balancing loss of mixtures of experts over the rows of each completion,
  /// each with this weight.
  void balance_experts(double weight);
};

/// What a completion's rows weigh in the load-balancing loss: `router_aux_loss_coef`, averaged over the
/// layers with experts and over the completions of `groups`, the whole batch of an update. 0 where there is
/// nothing to balance.
double balance_weight(const DecoderConfig& config, const std::vector<PackGroup>& groups,
                      double router_aux_loss_coef);

/// Groups where all prompts have one length and all completions, too.
struct EqualGroups {
  int64_t count = 0;
  int64_t prompt_rows = 0;
  int64_t completion_rows = 0;
  int64_t num_generations = 0;
};

/// How many rows a piece of an update has: at most `most`, and of several groups at most `shared`. Passes
/// without a backward keep nothing and go by `most` alone.
struct MicrobatchRows {
  constexpr MicrobatchRows(int64_t most = 0, int64_t shared = std::numeric_limits<int64_t>::max())
      : most(most), shared(shared) {}

  int64_t most, shared;

  /// Of the largest piece of such groups: of whole ones those that fit, else of one group the completions
  /// that do.
  int64_t filled(const EqualGroups& groups) const;
};

/// Cuts groups into pieces of so many rows, in order: a group that fits whole stays whole, a larger one is
/// cut between completions, and a single completion above the bound gets a piece of its own.
std::vector<std::vector<PackGroup>> cut_into_microbatches(const std::vector<PackGroup>& groups,
                                                          const MicrobatchRows& rows);

/// Lays out one piece for a decoder of these options. `repeats_prompt`: the first group's prompt was
/// forwarded by an earlier piece. `record`, where there is one, holds for the decoder: a piece of which all
/// completions are recorded takes from it what it holds.
std::unique_ptr<PackedBatch> pack(const std::vector<PackGroup>& groups, const at::TensorOptions& decoder,
                                  bool repeats_prompt = false, ActivationRecord* record = nullptr);

/// [M, H] the rows that predict the tokens of `batch`, as a head sees them; gradient to the decoder's weights
/// where gradients are on.
at::Tensor predicting_rows(const Decoder& decoder, const PackedBatch& batch);

/// log-probabilities and entropies of all tokens of `batch`, from these rows where they are at hand; gradient
/// as above, and to the decoder's head.
TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, const at::Tensor& rows,
                              double temperature);
TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, double temperature);

/// Throws UserError naming `where` when the prompt is empty, an id lies outside the vocabulary or the
/// sequence is longer than the model's context.
void check_token_ids(const DecoderConfig& config, const std::vector<int32_t>& prompt_ids,
                     const std::vector<int32_t>& completion_ids, const std::string& where);

}  // namespace cohort
