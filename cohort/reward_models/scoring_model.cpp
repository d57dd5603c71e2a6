#include "cohort/reward_models/scoring_model.h"

#include <algorithm>
#include <span>

#include "cohort/core/error.h"
#include "cohort/models/classifier.h"
#include "cohort/reward_models/frozen_model.h"
#include "cohort/tensor/one_thread.h"

namespace cohort {
namespace {

using Sequences = std::span<const ScoredSequence* const>;

/// The scores of some sequences, in one pass.
void score_pass(const Decoder& decoder, Sequences sequences, std::vector<LabelScores>* results) {
  PackedSequences packed;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const ScoredSequence& sequence = *sequences[i];
    if (i == 0 || sequence.prompt_ids != sequences[i - 1]->prompt_ids)
      packed.begin_group(sequence.prompt_ids);
    const int64_t index = packed.add(sequence.completion_ids);
    for (const int64_t position : sequence.positions) rows.push_back(packed.row(index, position));
    if (sequence.positions.empty()) rows.push_back(packed.pooled_row(index, decoder.config()));
  }
  const at::Tensor scores = packed.scores(decoder, rows).cpu().contiguous();
  const float* score = scores.const_data_ptr<float>();
  for (size_t i = 0; i < sequences.size(); ++i) {
    for (size_t row = 0; row < std::max<size_t>(1, sequences[i]->positions.size()); ++row) {
      results[i].emplace_back(score, score + scores.size(1));
      score += scores.size(1);
    }
  }
}

int64_t rows_of(const ScoredSequence& sequence) {
  return static_cast<int64_t>(sequence.prompt_ids.size() + sequence.completion_ids.size());
}

std::string label_names(const DecoderConfig& model) {
  std::string names;
  const Json list = model.raw.value("id2label", Json::object());
  for (int64_t i = 0; i < model.num_labels; ++i) {
    const std::string number = std::to_string(i);
    names += (i > 0 ? ", " : "") + number;
    if (list.is_object() && list.contains(number)) names += " (" + list.at(number).dump() + ")";
  }
  return names;
}

}  // namespace

void ScoringKeys::describe(FieldVisitor& f) {
  f("path", path, "The Hugging Face directory of the reward model; required.", OnResume::kSameFiles);
  f("dtype", dtype, "What it computes in; float32 when empty.", one_of({"", "float32", "bfloat16"}));
  f("label", label,
    "Which of several labels is the reward, by name or number; required for three and more, and for `model` "
    "for two.");
}

ScoringModel::ScoringModel(const std::string& name, const ScoringKeys& keys, HeadKind head)
    : decoder_(load_frozen(name, keys.path, keys.dtype, head)) {}

void ScoringModel::check(const ScoredSequence& sequence) const {
  const int64_t length = rows_of(sequence);
  if (length == 0) throw FormatError("there is nothing to judge: prompt and completion have no tokens");
  if (length > config().context_length) {
    throw FormatError(
        str(length, " tokens are more than the reward model's context of ", config().context_length));
  }
  for (const auto* ids : {&sequence.prompt_ids, &sequence.completion_ids}) {
    for (const int32_t id : *ids) {
      if (id >= 0 && id < config().vocab_size) continue;
      throw FormatError(
          str("id ", id, " lies outside the reward model's vocabulary of ", config().vocab_size));
    }
  }
}

std::vector<std::vector<LabelScores>> ScoringModel::score(
    const std::vector<ScoredSequence>& sequences) const {
  const at::NoGradGuard no_grad;
  const OneThread one_thread;  // the others are the sampler's
  std::vector<const ScoredSequence*> order;
  order.reserve(sequences.size());
  for (const ScoredSequence& sequence : sequences) order.push_back(&sequence);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->prompt_ids < b->prompt_ids; });
  std::vector<std::vector<LabelScores>> sorted(sequences.size());
  size_t begin = 0;
  int64_t rows = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t more = rows_of(*order[i]);
    if (i > begin && rows + more > kPassRows) {
      score_pass(*decoder_, Sequences(order).subspan(begin, i - begin), &sorted[begin]);
      begin = i;
      rows = 0;
    }
    rows += more;
  }
  if (begin < order.size()) score_pass(*decoder_, Sequences(order).subspan(begin), &sorted[begin]);
  std::vector<std::vector<LabelScores>> results(sequences.size());
  for (size_t i = 0; i < order.size(); ++i) results[order[i] - sequences.data()] = std::move(sorted[i]);
  return results;
}

int64_t ScoringModel::memory_bytes() const { return frozen_model_bytes(*decoder_, kPassRows); }

int64_t choose_label(const std::string& name, const ScoringKeys& keys, const DecoderConfig& model,
                     std::optional<int64_t> fallback) {
  if (keys.label.empty()) {
    if (model.num_labels == 1) return 0;
    if (fallback) return *fallback;
    throw ConfigError(str("reward ", name, ": ", keys.path, " gives ", model.num_labels,
                          " scores; `label` must say which one is the reward: ", label_names(model)));
  }
  const std::optional<int64_t> label = find_label(model, keys.label);
  if (!label) {
    throw ConfigError(str("reward ", name, ": ", keys.path, " has no label \"", keys.label, "\"; it has ",
                          label_names(model)));
  }
  return *label;
}

}  // namespace cohort
