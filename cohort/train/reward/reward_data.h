// The data that reward models are fitted to: preferences and labelled steps, in TRL's formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/tasks/dataset.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/run/run_data.h"

namespace cohort {

/// What one line teaches: that the first of two completions is the better one, or which steps of one are
/// right.
struct RewardExample {
  std::string id{};  ///< "FILE:LINE"
  std::vector<int32_t> prompt_ids{};
  std::vector<std::vector<int32_t>> completions{};  ///< chosen and rejected, or the worked solution
  double margin = 0.0;                              ///< by which the chosen one should lead
  std::vector<int64_t> step_ends{};                 ///< tokens of the solution up to the end of each step
  std::vector<int64_t> step_labels{};

  int64_t num_rows() const;  ///< prompt and completions, the prompt once
};

/// How rows become examples.
struct RewardFormat {
  SftFormat sft;
  const Tokenizer* tokenizer;  ///< must outlive this
  HeadConfig head;
  int64_t num_labels;
};

/// A pair: `prompt`, `chosen` and `rejected`, strings or message lists, and `margin` where there is one;
/// without `prompt` the other two hold it. Steps: `prompt`, `completions`, a list of steps, and `labels`, one
/// for each. Throws FormatError naming the line.
RewardExample to_reward_example(const Row& row, const RewardFormat& format);

Dataset open_reward_examples(const RewardDataConfig& data, DataPart part, const RewardFormat& format,
                             const DecoderConfig& model);

/// All rows at once.
std::vector<RewardExample> all_reward_examples(const Dataset& dataset, const RewardFormat& format);

}  // namespace cohort
