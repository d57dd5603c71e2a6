#include "cohort/train/run/packing.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/train/run/shared_rows.h"

namespace cohort {
namespace {

int64_t completion_rows(const Completion& completion) {
  return std::max<int64_t>(0, rows_behind_prompt(completion));
}

/// Cuts one group between completions.
std::vector<PackGroup> cut_group(const PackGroup& group, int64_t max_rows) {
  std::vector<PackGroup> pieces;
  int64_t rows = 0;
  for (const PackedCompletion& packed : group.completions) {
    if (!pieces.empty()) {
      pieces.back().completions.push_back(packed);
      rows += added_rows(pieces.back(), pieces.back().completions.size() - 1);
      if (rows <= max_rows) continue;
      pieces.back().completions.pop_back();
    }
    pieces.push_back({group.prompt_ids, {packed}});
    rows = num_rows(pieces.back());
  }
  return pieces;
}

int64_t row_at(const std::vector<RowRange>& ranges, int64_t position) {
  for (const RowRange& range : ranges) {
    if (position < range.size()) return range.begin + position;
    position -= range.size();
  }
  throw InternalError("a position behind the end of a sequence");
}

/// The first `count` rows of a sequence.
std::vector<RowRange> first_rows(const std::vector<RowRange>& ranges, int64_t count) {
  std::vector<RowRange> first;
  for (const RowRange& range : ranges) {
    if (count == 0) break;
    first.push_back({range.begin, range.begin + std::min(count, range.size())});
    count -= first.back().size();
  }
  return first;
}

/// Collects the rows of a batch as they are laid out.
class RowBuilder {
 public:
  RowBuilder(PackedBatch& batch, const ActivationRecord* record)
      : batch_(batch), record_(record), is_recorded_(record != nullptr) {}

  void add_group(const PackGroup& group, bool is_repeat) {
    batch_.input.plan.begin_group();
    const auto prompt_length = static_cast<int64_t>(group.prompt_ids->size());
    const RowRange prompt_range = add_rows(*group.prompt_ids, prompt_length, 0);
    num_unread_ += prompt_length - 1;
    batch_.input.plan.add_sequence(prompt_range.begin, prompt_length, 0, {prompt_range});
    (is_repeat ? batch_.rows.repeated_prompt : batch_.rows.prompt) += prompt_length;
    bool adds_prompt = true;
    std::vector<std::vector<RowRange>> sequences(group.completions.size());
    for (size_t i = 0; i < group.completions.size(); ++i) {
      const PackedCompletion& packed = group.completions[i];
      if (rows_behind_prompt(*packed.completion) < 0) continue;
      if (is_recorded_) add_recorded(group, packed, adds_prompt);
      adds_prompt = false;
      const SharedRows shared = shared_rows(group, i);
      sequences[i] = shared.source < 0 ? first_rows({prompt_range}, shared.count)
                                       : first_rows(sequences[shared.source], shared.count);
      add_completion(packed, group.prompt_of(packed), sequences[i]);
    }
    if (adds_prompt) is_recorded_ = false;
    add_range({prompt_range.end - 1, static_cast<int64_t>(token_ids_.size())}, results_);
  }

  void finish(const at::TensorOptions& decoder) {
    batch_.input.set_rows(token_ids_, positions_, decoder.device());
    batch_.input.set_result_rows(std::move(results_));
    if (is_recorded_) {
      batch_.input.store =
          std::make_shared<RecordedLayers>(*record_, batch_.input.in_record(std::move(recorded_)));
    }
    batch_.logit_rows = at::tensor(logit_rows_, at::kLong).to(decoder.device());
    batch_.reply_rows = at::tensor(reply_rows_, at::kLong).to(decoder.device());
    if (!has_kept_ids_) batch_.targets.kept_ids.clear();
  }

 private:
  RowRange add_rows(const std::vector<int32_t>& ids, int64_t count, int64_t first_position) {
    const auto begin = static_cast<int64_t>(token_ids_.size());
    token_ids_.insert(token_ids_.end(), ids.begin(), ids.begin() + count);
    for (int64_t i = 0; i < count; ++i) positions_.push_back(first_position + i);
    return {begin, begin + count};
  }

  void add_recorded(const PackGroup& group, const PackedCompletion& packed, bool adds_prompt) {
    const Completion& completion = *packed.completion;
    const auto found =
        packed.is_branch ? std::nullopt : record_->find(*group.prompt_ids, completion.token_ids);
    is_recorded_ = found.has_value();
    if (!found) return;
    if (adds_prompt) add_range({found->prompt, found->prompt + std::ssize(*group.prompt_ids)}, recorded_);
    add_range({found->completion, found->completion + completion_rows(completion)}, recorded_);
  }

  /// `rows`: those of the sequence that it shares; becomes all of its rows.
  void add_completion(const PackedCompletion& packed, const std::vector<int32_t>& prompt_ids,
                      std::vector<RowRange>& rows) {
    const Completion& completion = *packed.completion;
    int64_t first = 0;
    for (const RowRange& range : rows) first += range.size();
    const auto prompt_length = std::ssize(prompt_ids);
    std::vector<int32_t> ids;
    for (int64_t i = first; i < prompt_length + completion_rows(completion); ++i)
      ids.push_back(i < prompt_length ? prompt_ids[i] : completion.token_ids[i - prompt_length]);
    const RowRange own = add_rows(ids, std::ssize(ids), first);
    rows.push_back(own);
    if (own.size() > 0) batch_.input.plan.add_sequence(own.begin, own.size(), first, rows);
    batch_.rows.completion += own.size();
    batch_.completions.push_back(packed);
    batch_.completion_rows.push_back(own);
    size_t column = 0;
    for_each_sampled(completion, [&](int64_t i) {
      logit_rows_.push_back(row_at(rows, prompt_length + i - 1) - num_unread_);
      batch_.targets.token_ids.push_back(completion.token_ids[i]);
      batch_.targets.kept_ids.push_back(completion.kept_ids.empty() ? nullptr
                                                                    : completion.kept_ids[column].get());
      has_kept_ids_ |= batch_.targets.kept_ids.back() != nullptr;
      ++column;
    });
    for_each_reply_token(completion, [&](int64_t i) {
      reply_rows_.push_back(row_at(rows, prompt_length + i - 1) - num_unread_);
      batch_.reply_targets.token_ids.push_back(completion.token_ids[i]);
    });
  }

  PackedBatch& batch_;
  const ActivationRecord* record_;  // null: the pass computes everything
  std::vector<int64_t> token_ids_, positions_, logit_rows_, reply_rows_;
  std::vector<RowRange> results_, recorded_;
  int64_t num_unread_ = 0;  // rows so far whose results nobody reads
  bool has_kept_ids_ = false;
  bool is_recorded_;  // so far all rows are in the record
};

}  // namespace

int64_t num_rows(const PackGroup& group) {
  auto rows = static_cast<int64_t>(group.prompt_ids->size());
  for (size_t i = 0; i < group.completions.size(); ++i) rows += added_rows(group, i);
  return rows;
}

void RowCounts::add(const RowCounts& other) {
  prompt += other.prompt;
  completion += other.completion;
  repeated_prompt += other.repeated_prompt;
}

void PackedBatch::balance_experts(double weight) {
  if (weight == 0.0) return;
  for (const RowRange& rows : completion_rows) {
    if (rows.begin < rows.end) balance.sequences.push_back({rows.begin, rows.end, weight});
  }
  input.balance = &balance;
}

double balance_weight(const DecoderConfig& config, const std::vector<PackGroup>& groups,
                      double router_aux_loss_coef) {
  const auto num_layers = std::count_if(config.layers.begin(), config.layers.end(),
                                        [](const auto& layer) { return layer.has_experts; });
  int64_t num_sequences = 0;
  for (const PackGroup& group : groups) {
    for (const PackedCompletion& packed : group.completions)
      num_sequences += completion_rows(*packed.completion) > 0;
  }
  if (num_layers == 0 || num_sequences == 0) return 0.0;
  return router_aux_loss_coef / static_cast<double>(num_layers * num_sequences);
}

int64_t MicrobatchRows::filled(const EqualGroups& groups) const {
  const int64_t group = groups.prompt_rows + groups.num_generations * groups.completion_rows;
  if (group <= most) return std::clamp<int64_t>(std::min(most, shared) / group, 1, groups.count) * group;
  const int64_t fitting = (most - groups.prompt_rows) / std::max<int64_t>(1, groups.completion_rows);
  return groups.prompt_rows + std::max<int64_t>(1, fitting) * groups.completion_rows;
}

std::vector<std::vector<PackGroup>> cut_into_microbatches(const std::vector<PackGroup>& groups,
                                                          const MicrobatchRows& rows) {
  std::vector<std::vector<PackGroup>> microbatches;
  int64_t taken = 0;
  for (const PackGroup& group : groups) {
    const int64_t more = num_rows(group);
    if (more > rows.most) {
      for (PackGroup& piece : cut_group(group, rows.most)) microbatches.push_back({std::move(piece)});
      taken = rows.most;  // a cut group shares its pieces with nobody
      continue;
    }
    if (microbatches.empty() || taken + more > std::min(rows.most, rows.shared)) {
      microbatches.emplace_back();
      taken = 0;
    }
    microbatches.back().push_back(group);
    taken += more;
  }
  return microbatches;
}

std::unique_ptr<PackedBatch> pack(const std::vector<PackGroup>& groups, const at::TensorOptions& decoder,
                                  bool repeats_prompt, const ActivationRecord* record) {
  auto batch = std::make_unique<PackedBatch>();
  RowBuilder builder(*batch, record);
  for (const PackGroup& group : groups) builder.add_group(group, repeats_prompt && &group == &groups.front());
  builder.finish(decoder);
  return batch;
}

at::Tensor predicting_rows(const Decoder& decoder, const PackedBatch& batch) {
  return decoder.head_input(decoder.forward(batch.input), batch.logit_rows);
}

TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, const at::Tensor& rows,
                              double temperature) {
  // Dropout acts on the layers' adapters; Decoder::adapt refuses it for the head's.
  const AdapterUse use{.enabled = batch.input.adapters.enabled};
  return token_logprobs(rows, decoder.head(use), batch.targets,
                        {.temperature = temperature, .softcap = decoder.config().final_softcap}, use);
}

TokenLogprobs packed_logprobs(const Decoder& decoder, const PackedBatch& batch, double temperature) {
  return packed_logprobs(decoder, batch, predicting_rows(decoder, batch), temperature);
}

at::Tensor reply_logprobs(const Decoder& decoder, const PackedBatch& batch, const at::Tensor& hidden) {
  const AdapterUse use{.enabled = batch.input.adapters.enabled};
  const at::Tensor rows = decoder.head_input(hidden, batch.reply_rows);
  return token_logprobs(rows, decoder.head(use), batch.reply_targets,
                        {.softcap = decoder.config().final_softcap}, use)
      .logprobs;
}

void check_token_ids(const DecoderConfig& config, const std::vector<int32_t>& prompt_ids,
                     const std::vector<int32_t>& completion_ids, const std::string& where) {
  if (prompt_ids.empty()) throw FormatError(str(where, ": the prompt has no tokens"));
  for (const auto* ids : {&prompt_ids, &completion_ids}) {
    for (const int32_t id : *ids) {
      if (id < 0 || id >= config.vocab_size) {
        throw FormatError(str(where, ": id ", id, " lies outside the vocabulary of ", config.vocab_size));
      }
    }
  }
  const size_t length = prompt_ids.size() + completion_ids.size();
  if (length > static_cast<size_t>(config.context_length)) {
    throw FormatError(
        str(where, ": ", length, " tokens are more than the model's context of ", config.context_length));
  }
}

}  // namespace cohort
