#include "cohort/models/classifier.h"

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// The head's scores of selected rows of all sequences, which are packed one behind the other.
at::Tensor scores_at(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences,
                     const std::vector<int64_t>& rows) {
  std::vector<int64_t> token_ids, positions;
  DecoderInput input;
  for (const std::vector<int32_t>& sequence : sequences) {
    COHORT_CHECK(!sequence.empty(), "a sequence without tokens");
    const auto begin = static_cast<int64_t>(token_ids.size()), count = static_cast<int64_t>(sequence.size());
    token_ids.insert(token_ids.end(), sequence.begin(), sequence.end());
    for (int64_t i = 0; i < count; ++i) positions.push_back(i);
    input.plan.begin_group();
    input.plan.add_sequence(begin, count, 0, {{begin, begin + count}});
  }
  input.set_rows(std::move(token_ids), std::move(positions), decoder.device());
  const at::Tensor hidden = decoder.forward(input);
  const at::Tensor selected = at::tensor(rows, at::kLong).to(hidden.device());
  return decoder.head().forward(decoder.head_input(hidden, selected)).to(at::kFloat);
}

/// Of the last token that is not the pad token; of the first one where all are.
int64_t pooled_position(const std::vector<int32_t>& sequence, const std::vector<int32_t>& pad_token_ids) {
  auto last = static_cast<int64_t>(sequence.size()) - 1;
  if (pad_token_ids.empty()) return last;
  while (last > 0 && sequence[last] == pad_token_ids.front()) --last;
  return last;
}

}  // namespace

at::Tensor sequence_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences) {
  COHORT_CHECK(decoder.config().head == HeadKind::kSequenceClassification, decoder.config().architecture);
  std::vector<int64_t> rows;
  int64_t begin = 0;
  for (const std::vector<int32_t>& sequence : sequences) {
    rows.push_back(begin + pooled_position(sequence, decoder.config().pad_token_ids));
    begin += static_cast<int64_t>(sequence.size());
  }
  return scores_at(decoder, sequences, rows);
}

at::Tensor token_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences) {
  COHORT_CHECK(decoder.config().head == HeadKind::kTokenClassification, decoder.config().architecture);
  std::vector<int64_t> rows;
  for (const std::vector<int32_t>& sequence : sequences) {
    for (size_t i = 0; i < sequence.size(); ++i) rows.push_back(static_cast<int64_t>(rows.size()));
  }
  return scores_at(decoder, sequences, rows);
}

}  // namespace cohort
