#include "cohort/train/preference/preference_data.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/train/run/data_options.h"
#include "cohort/train/run/packing.h"

namespace cohort {
namespace {

/// Ends as completions of rollouts do.
void end_text(std::vector<int32_t>& ids, const SftFormat& format) {
  if (format.eos_id && (ids.empty() || ids.back() != *format.eos_id)) ids.push_back(*format.eos_id);
}

/// The prompt with one of its completions. Of a text that holds its prompt all is completion.
PromptCompletion read_side(const Row& row, const char* name, const SftFormat& format) {
  PromptCompletion ids;
  if (row.columns.contains("prompt")) {
    ids = prompt_with(row, name, format.text);
  } else if (!row.columns.contains(name)) {
    throw FormatError(str(row.where, ": the column \"", name, "\" is missing"));
  } else if (row.columns.at(name).is_string()) {
    ids.completion_ids = format.text.tokenize(row.columns.at(name).get<std::string>());
  } else {
    ids = split_messages(row, name, format.text);
  }
  if (!ids.is_rendered) end_text(ids.completion_ids, format);
  return ids;
}

/// What both begin with becomes the prompt.
void share_prompt(PromptCompletion& chosen, PromptCompletion& rejected) {
  for (PromptCompletion* side : {&chosen, &rejected}) {
    std::vector<int32_t>& ids = side->completion_ids;
    ids.insert(ids.begin(), side->prompt_ids.begin(), side->prompt_ids.end());
  }
  std::vector<int32_t>&first = chosen.completion_ids, &second = rejected.completion_ids;
  const auto [end, other] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  chosen.prompt_ids.assign(first.begin(), end);
  second.erase(second.begin(), other);
  first.erase(first.begin(), end);
}

}  // namespace

PreferenceExample to_preference_example(const Row& row, const SftFormat& format) {
  const Json one = row.columns.value("chosen", Json()), other = row.columns.value("rejected", Json());
  if (!row.columns.contains("prompt") &&
      ((one.is_string() && other.is_array()) || (one.is_array() && other.is_string())))
    throw FormatError(
        str(row.where, ": \"chosen\" and \"rejected\" must both be texts or both lists of messages"));
  PromptCompletion chosen = read_side(row, "chosen", format);
  PromptCompletion rejected = read_side(row, "rejected", format);
  const bool have_one_prompt = !chosen.prompt_ids.empty() && chosen.prompt_ids == rejected.prompt_ids;
  if (!row.columns.contains("prompt") && !have_one_prompt) share_prompt(chosen, rejected);
  if (chosen.completion_ids == rejected.completion_ids)
    throw FormatError(str(row.where, ": \"chosen\" and \"rejected\" are the same"));
  PreferenceExample example{.id = row.id, .prompt_ids = std::move(chosen.prompt_ids)};
  example.completions[0].token_ids = std::move(chosen.completion_ids);
  example.completions[1].token_ids = std::move(rejected.completion_ids);
  for (Completion& completion : example.completions)
    cut_completion(completion, example.prompt_ids.size(), format.max_length);
  return example;
}

Dataset open_preferences(const PreferenceDataConfig& data, DataPart part, const SftFormat& format,
                         const DecoderConfig& model) {
  const auto measure = [&](const Row& row) {
    const PreferenceExample example = to_preference_example(row, format);
    const auto prompt = static_cast<int64_t>(example.prompt_ids.size());
    RowLengths lengths{prompt, prompt};
    for (const Completion& completion : example.completions) {
      if (completion.token_ids.empty()) throw FormatError(str(row.where, ": a completion has no tokens"));
      const int64_t total = prompt + static_cast<int64_t>(completion.token_ids.size());
      if (total <= model.context_length)
        check_token_ids(model, example.prompt_ids, completion.token_ids, row.where);
      lengths.total = std::max(lengths.total, total);
    }
    return lengths;
  };
  const bool is_training = part == DataPart::kTrain;
  const DatasetOptions options =
      is_training ? training_options(data, model) : evaluation_options(data, model);
  Dataset dataset(with_room_for_completions(options, data), measure);
  report_rows(dataset, is_training ? "training" : "evaluation");
  return dataset;
}

}  // namespace cohort
