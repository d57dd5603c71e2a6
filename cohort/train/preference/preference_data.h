// Preferences: two completions of one prompt, the better one first. What `cohort dpo` and the reward models
// of `cohort reward-train` learn from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/rl/types.h"
#include "cohort/tasks/dataset.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/run/run_data.h"

namespace cohort {

struct PreferenceExample {
  std::string id{};  ///< "FILE:LINE"
  std::vector<int32_t> prompt_ids{};
  std::array<Completion, 2> completions{};  ///< chosen and rejected: their tokens, end-of-sequence ids last
};

/// `prompt`, `chosen` and `rejected`, strings or message lists. Without `prompt` the other two hold it: of
/// conversations it is what stands before the last message, of texts what their tokens begin with both.
/// Throws FormatError naming the line.
PreferenceExample to_preference_example(const Row& row, const SftFormat& format);

/// Of these rows each has tokens in its prompt and in both completions.
Dataset open_preferences(const PreferenceDataConfig& data, DataPart part, const SftFormat& format,
                         const DecoderConfig& model);

}  // namespace cohort
