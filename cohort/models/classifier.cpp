#include "cohort/models/classifier.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {
namespace {

PackedSequences pack_whole(const std::vector<std::vector<int32_t>>& sequences) {
  PackedSequences packed;
  for (const std::vector<int32_t>& sequence : sequences) {
    COHORT_CHECK(!sequence.empty(), "a sequence without tokens");
    packed.begin_group({});
    packed.add(sequence);
  }
  return packed;
}

}  // namespace

RowRange PackedSequences::append(std::span<const int32_t> ids, int64_t first_position) {
  const int64_t begin = num_rows();
  token_ids_.insert(token_ids_.end(), ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) positions_.push_back(first_position + static_cast<int64_t>(i));
  return {begin, num_rows()};
}

void PackedSequences::begin_group(std::span<const int32_t> prefix) {
  input_.plan.begin_group();
  prefix_ = append(prefix, 0);
  const int64_t length = prefix_.size();
  if (length > 0) input_.plan.add_sequence(prefix_.begin, length, 0, {prefix_});
}

int64_t PackedSequences::add(std::span<const int32_t> ids) {
  const int64_t before = prefix_.size();
  const RowRange own = append(ids, before);
  if (!ids.empty()) {
    std::vector<RowRange> keys{own};
    if (before > 0) keys.insert(keys.begin(), prefix_);
    input_.plan.add_sequence(own.begin, own.size(), before, keys);
  }
  sequences_.push_back({prefix_, own});
  return static_cast<int64_t>(sequences_.size()) - 1;
}

int64_t PackedSequences::row(int64_t sequence, int64_t position) const {
  const auto& [prefix, own] = sequences_.at(sequence);
  COHORT_CHECK(0 <= position && position < length(sequence), "token ", position, " of ", length(sequence));
  const int64_t before = prefix.size();
  return position < before ? prefix.begin + position : own.begin + position - before;
}

int64_t PackedSequences::length(int64_t sequence) const {
  const auto& [prefix, own] = sequences_.at(sequence);
  return prefix.size() + own.size();
}

int64_t PackedSequences::pooled_row(int64_t sequence, const DecoderConfig& config) const {
  int64_t last = length(sequence) - 1;
  if (!config.pad_token_ids.empty()) {
    while (last > 0 && token_ids_[row(sequence, last)] == config.pad_token_ids.front()) --last;
  }
  return row(sequence, last);
}

at::Tensor PackedSequences::scores(const Decoder& decoder, const std::vector<int64_t>& rows, bool recompute) {
  COHORT_CHECK(decoder.config().head != HeadKind::kCausalLm, decoder.config().architecture);
  input_.set_rows(token_ids_, positions_, decoder.device());
  input_.recompute = recompute;
  std::vector<int64_t> scored = rows;
  std::ranges::sort(scored);
  scored.erase(std::ranges::unique(scored).begin(), scored.end());
  std::vector<RowRange> ranges;
  for (const int64_t row : scored) add_range({row, row + 1}, ranges);
  input_.set_result_rows(std::move(ranges));
  std::vector<int64_t> results;  // which result row each of `rows` is
  results.reserve(rows.size());
  for (const int64_t row : rows) results.push_back(std::ranges::lower_bound(scored, row) - scored.begin());
  const at::Tensor hidden = decoder.forward(input_);
  const at::Tensor selected = at::tensor(results, at::kLong).to(hidden.device());
  return decoder.head().forward(decoder.head_input(hidden, selected)).to(at::kFloat);
}

at::Tensor sequence_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences) {
  COHORT_CHECK(decoder.config().head == HeadKind::kSequenceClassification, decoder.config().architecture);
  const at::NoGradGuard no_grad;
  PackedSequences packed = pack_whole(sequences);
  std::vector<int64_t> rows;
  rows.reserve(sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    rows.push_back(packed.pooled_row(static_cast<int64_t>(i), decoder.config()));
  }
  return packed.scores(decoder, rows);
}

at::Tensor token_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences) {
  COHORT_CHECK(decoder.config().head == HeadKind::kTokenClassification, decoder.config().architecture);
  const at::NoGradGuard no_grad;
  PackedSequences packed = pack_whole(sequences);
  std::vector<int64_t> rows(packed.num_rows());
  std::iota(rows.begin(), rows.end(), 0);
  return packed.scores(decoder, rows);
}

}  // namespace cohort
