// Packs groups of different lengths into rows without padding: the prompt's rows once, then the rows of each
// completion.
//
// The prompt's last row predicts a completion's first token, and the row of token j - 1 predicts token j. A
// completion takes a row for each token before its last sampled one, which is never forwarded: C sampled
// tokens take C - 1 rows. Injected tokens take rows, too, and no row predicts them.
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

/// A completion for one pass, which borrows it, and the caller's number for it.
struct PackedCompletion {
  PackedCompletion(const Completion* completion, int64_t place = 0)  // NOLINT(google-explicit-constructor)
      : completion(completion), place(place) {}

  const Completion* completion;
  int64_t place;
  /// It is a branch of the completion before it, or of one before other branches, or it is of the same tree:
  /// rows of their tokens that it begins with are its own, too.
  bool is_branch = false;
  const std::vector<int32_t>* prompt_ids = nullptr;  ///< of a branch, in the place of its group's prompt
};

/// Completions of one prompt, forwarded together. Those without a sampled token are skipped. Owns neither the
/// prompt nor the completions.
struct PackGroup {
  const std::vector<int32_t>* prompt_ids;
  std::vector<PackedCompletion> completions;

  /// The prompt that a completion of the group continues.
  const std::vector<int32_t>& prompt_of(const PackedCompletion& packed) const {
    return packed.prompt_ids == nullptr ? *prompt_ids : *packed.prompt_ids;
  }
};

/// Calls f(place) for each token of the environment's replies, ascending: injected ones between the first and
/// the last sampled one.
template <typename F>
void for_each_reply_token(const Completion& completion, F f) {
  int64_t begin = -1, end = -1;
  for (const TokenSpan& span : completion.spans) {
    if (span.origin != TokenOrigin::kSampled) continue;
    if (begin < 0) begin = span.end();
    end = span.first;
  }
  for (const TokenSpan& span : completion.spans) {
    if (span.origin == TokenOrigin::kSampled || span.first < begin || span.first >= end) continue;
    for (int64_t i = span.first; i < span.end(); ++i) f(i);
  }
}

/// The number of rows that a group takes.
int64_t num_rows(const PackGroup& group);

/// The number of rows of a forward pass, by kind.
struct RowCounts {
  int64_t prompt = 0;
  int64_t completion = 0;
  int64_t repeated_prompt = 0;  ///< prompt rows forwarded again because a group was cut

  void add(const RowCounts& other);
};

/// The input of one forward pass. Heap-allocated, because the graph holds pointers into it until the backward
/// pass ends.
struct PackedBatch {
  DecoderInput input;
  at::Tensor logit_rows;                      ///< [M] int64: the result row that predicts each token
  TokenTargets targets;                       ///< [M] sampled tokens, completion after completion
  at::Tensor reply_rows;                      ///< [R] int64: the same of the environment's replies
  TokenTargets reply_targets;                 ///< [R] see for_each_reply_token
  std::vector<PackedCompletion> completions;  ///< the completions of these tokens, in order
  std::vector<RowRange> completion_rows;      ///< the rows of each completion
  RowCounts rows;
  RouterBalance balance;

  /// Makes the forward pass add the load-balancing loss of mixtures of experts. Each completion's rows get
  /// this weight.
  void balance_experts(double weight);
};

/// The weight of one completion's rows in the load-balancing loss: `router_aux_loss_coef` divided by the
/// number of layers with experts and by the number of completions in `groups`, which are the whole batch of
/// an update. 0 if there is nothing to balance.
double balance_weight(const DecoderConfig& config, const std::vector<PackGroup>& groups,
                      double router_aux_loss_coef);

/// Groups whose prompts all have the same length, and whose completions all have the same length.
struct EqualGroups {
  int64_t count = 0;
  int64_t prompt_rows = 0;
  int64_t completion_rows = 0;
  int64_t num_generations = 0;
};

/// The largest number of rows of a micro-batch: `most` if it holds one group, the smaller of `most` and
/// `shared` if it holds several. Passes without a backward pass keep no activations, so only `most` limits
/// them.
struct MicrobatchRows {
  constexpr MicrobatchRows(int64_t most = 0, int64_t shared = std::numeric_limits<int64_t>::max())
      : most(most), shared(shared) {}

  int64_t most, shared;

  /// Rows in the largest micro-batch that these groups produce. It holds as many whole groups as fit, or as
  /// many completions of one group if no whole group fits.
  int64_t filled(const EqualGroups& groups) const;
};

/// Cuts groups into micro-batches of at most `rows`, in order. A group that fits stays whole. A larger group
/// is cut between completions. A single completion above the limit gets a micro-batch of its own.
std::vector<std::vector<PackGroup>> cut_into_microbatches(const std::vector<PackGroup>& groups,
                                                          const MicrobatchRows& rows);

/// Lays out one micro-batch for a decoder with these options. `repeats_prompt`: an earlier micro-batch
/// forwarded the first group's prompt already. `record`: null, or a record that is valid for the decoder. If
/// it holds all completions of the micro-batch, the pass reads their activations from it.
std::unique_ptr<PackedBatch> pack(const std::vector<PackGroup>& groups, const at::TensorOptions& decoder,
                                  bool repeats_prompt = false, const ActivationRecord* record = nullptr);

/// The head's input rows that predict the tokens of `batch`: [M, H], with gradient to the decoder's weights
/// if gradients are on.
at::Tensor predicting_rows(const Decoder& decoder, const PackedBatch& batch);

/// Log-probabilities and entropies of all tokens of `batch`, with gradient to the decoder's weights and head
/// if gradients are on. `rows`: the result of predicting_rows(); the second function computes it.
TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, const at::Tensor& rows,
                              double temperature);
TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, double temperature);

/// [R] log-probabilities of the replies' tokens at temperature 1, with the same gradient. `hidden`: the
/// result of the decoder's forward pass.
at::Tensor reply_logprobs(const Decoder& decoder, const PackedBatch& batch, const at::Tensor& hidden);

/// Throws UserError naming `where` if the prompt is empty, an id lies outside the vocabulary or the sequence
/// is longer than the model's context.
void check_token_ids(const DecoderConfig& config, const std::vector<int32_t>& prompt_ids,
                     const std::vector<int32_t>& completion_ids, const std::string& where);

}  // namespace cohort
