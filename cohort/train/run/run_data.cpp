#include "cohort/train/run/run_data.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/train/run/data_options.h"
#include "cohort/train/run/packing.h"

namespace cohort {

Dataset open_prompts(const HeldOutRowsConfig& data, DataPart part, const TextFormat& format,
                     const DecoderConfig& model, const DemonstrationIds& demonstration_ids) {
  const bool is_training = part == DataPart::kTrain;
  const auto measure = [&](const Row& row) {
    const Prompt prompt = to_prompt(row, format);
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    // One token is the shortest completion. Longer prompts are the data set's to judge.
    if (length < model.context_length) check_prompts({prompt}, model);
    if (!demonstration_ids) return RowLengths{length, length + 1};
    const std::vector<int32_t> demonstration = demonstration_ids(prompt);
    const int64_t total = length + std::ssize(demonstration);
    if (total <= model.context_length) check_token_ids(model, prompt.token_ids, demonstration, row.where);
    return RowLengths{length, total};
  };
  Dataset dataset(is_training ? training_options(data, model) : evaluation_options(data, model), measure);
  report_rows(dataset, is_training ? "training" : "evaluation");
  return dataset;
}

std::vector<Prompt> all_prompts(const Dataset& dataset, const TextFormat& format) {
  std::vector<Prompt> prompts;
  dataset.for_each_row([&](Row row) { prompts.push_back(to_prompt(std::move(row), format)); });
  return prompts;
}

void warn_unused_variables(const TextFormat& format) {
  if (!format.chat_template_kwargs.is_null() && !format.has_rendered())
    log_warn("data.chat_template_kwargs has no effect: no row holds a list of messages");
}

SftFormat sft_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                     const DecoderConfig& model, const std::tm& now, const TextSettings& settings) {
  // What ends completions in the rollout ends them here.
  return {text_format(tokenizer, model_dir, now, settings), end_token_id(model, tokenizer)};
}

namespace {

SftExample turns_example(const Row& row, const SftFormat& format) {
  AssistantTurns turns = assistant_turns(row, format.text);
  SftExample example{row.id, std::move(turns.prompt_ids), {}};
  for (size_t i = 0; i < turns.completion_ids.size(); ++i) {
    const bool is_assistant = turns.is_assistant[i] != 0;
    example.completion.append(turns.completion_ids[i],
                              is_assistant ? TokenOrigin::kSampled : TokenOrigin::kInjected);
  }
  if (example.prompt_ids.empty())
    throw FormatError(str(row.where, ": nothing stands before the assistant's first message"));
  return example;
}

SftExample pair_example(const Row& row, const SftFormat& format) {
  PromptCompletion pair = to_prompt_completion(row, format.text);
  SftExample example{row.id, std::move(pair.prompt_ids), {}};
  example.completion.token_ids = std::move(pair.completion_ids);
  if (format.eos_id && !pair.is_rendered) example.completion.token_ids.push_back(*format.eos_id);
  return example;
}

/// A text, all of which is learnt.
SftExample text_example(const Row& row, const SftFormat& format) {
  const Json& text = row.columns.at("text");
  if (!text.is_string()) throw FormatError(str(row.where, ": \"text\" must be a string"));
  SftExample example{row.id, format.text.tokenize(text.get<std::string>()), {}};
  if (format.eos_id && (example.prompt_ids.empty() || example.prompt_ids.back() != *format.eos_id))
    example.prompt_ids.push_back(*format.eos_id);
  return example;
}

/// Moves all of the prompt but its first token, which nothing predicts, to the completion.
void learn_prompt(SftExample& example) {
  if (example.prompt_ids.empty()) return;
  std::vector<int32_t>& ids = example.completion.token_ids;
  ids.insert(ids.begin(), example.prompt_ids.begin() + 1, example.prompt_ids.end());
  example.prompt_ids.resize(1);
}

bool is_plain_text(const Row& row) {
  const auto has = [&](const char* name) { return row.columns.contains(name); };
  return has("text") && !has("prompt") && !has("messages");
}

}  // namespace

void cut_completion(Completion& completion, size_t prompt_length, const std::optional<int64_t>& max_length) {
  if (!max_length || std::ssize(completion.token_ids) + static_cast<int64_t>(prompt_length) <= *max_length)
    return;
  const int64_t kept = *max_length - static_cast<int64_t>(prompt_length);
  if (kept <= 0) return;
  completion.token_ids.resize(kept);
  std::erase_if(completion.spans, [&](const TokenSpan& span) { return span.first >= kept; });
  if (!completion.spans.empty()) completion.spans.back().count = kept - completion.spans.back().first;
}

SftExample to_sft_example(const Row& row, const SftFormat& format) {
  const bool is_text = is_plain_text(row);
  if (is_text && format.assistant_only_loss)
    throw FormatError(str(row.where, ": train.assistant_only_loss needs `messages`, and the row has `text`"));
  SftExample example = is_text                      ? text_example(row, format)
                       : format.assistant_only_loss ? turns_example(row, format)
                                                    : pair_example(row, format);
  if (is_text || !format.completion_only_loss) learn_prompt(example);
  cut_completion(example.completion, example.prompt_ids.size(), format.max_length);
  if (example.prompt_ids.empty()) throw FormatError(str(row.where, ": the prompt has no tokens"));
  if (example.completion.token_ids.empty())
    throw FormatError(str(row.where, ": the completion has no tokens"));
  return example;
}

}  // namespace cohort
