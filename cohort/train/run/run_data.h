// The data of a run: what its settings name, opened and checked against the model before the first step.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/rl/types.h"
#include "cohort/tasks/dataset.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

enum class DataPart { kTrain, kEvaluation };

/// The ids of a prompt's demonstration. Throws FormatError if there is none.
using DemonstrationIds = std::function<std::vector<int32_t>(const Prompt& prompt)>;

/// Prompts for rollouts; the rows for evaluation are those of `eval_path`, or the held-out ones. Where
/// `demonstration_ids` is given, every row must have a demonstration that fits after its prompt. Throws
/// UserError for what can't be used, such as ids outside the vocabulary.
Dataset open_prompts(const HeldOutRowsConfig& data, DataPart part, const TextFormat& format,
                     const DecoderConfig& model, const DemonstrationIds& demonstration_ids = {});

/// All rows at once.
std::vector<Prompt> all_prompts(const Dataset& dataset, const TextFormat& format);

/// Warns where the run sets variables of the chat template and no row of the data is a conversation.
void warn_unused_variables(const TextFormat& format);

/// What of a text becomes an example of supervised training.
struct SftFormat {
  TextFormat text;
  std::optional<int32_t> eos_id;     ///< put behind plain completions, as it ends those of rollouts
  bool assistant_only_loss = false;  ///< every message of the assistant's is learnt, not the last one alone
  bool completion_only_loss = true;  ///< otherwise the prompt is learnt too, but for its first token
  std::optional<int64_t> max_length{};  ///< tokens of a sequence, the rest of which is cut off
};

SftFormat sft_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                     const DecoderConfig& model, const std::tm& now, const TextSettings& settings);

struct SftExample {
  std::string id;  ///< "FILE:LINE"
  std::vector<int32_t> prompt_ids;
  Completion completion;  ///< its tokens, the end-of-sequence id last; injected ones between learnt messages
};

/// Cuts a completion so that it ends after `max_length` tokens with its prompt; one that begins behind is
/// left whole.
void cut_completion(Completion& completion, size_t prompt_length, const std::optional<int64_t>& max_length);

/// Of rows with `prompt` and `completion`, with `messages` or with `text`, whose first token is the prompt.
/// Throws FormatError naming the line.
SftExample to_sft_example(const Row& row, const SftFormat& format);

}  // namespace cohort
