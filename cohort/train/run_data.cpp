#include "cohort/train/run_data.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <mutex>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/sampler/sampler.h"
#include "cohort/text/chat_template.h"
#include "cohort/train/packing.h"
#include "cohort/train/stop_ids.h"

namespace cohort {
namespace {

DataSource to_source(const DataSourceConfig& config, const std::map<std::string, std::string>& columns) {
  DataSource source{config.path, config.weight, config.domain, config.columns};
  source.columns.insert(columns.begin(), columns.end());
  return source;
}

template <typename Data>
DatasetOptions options_of(const Data& data, const DecoderConfig& model) {
  DatasetOptions options;
  options.deduplicate = parse_deduplicate(data.deduplicate);
  options.max_prompt_length = data.max_prompt_length;
  options.context_length = model.context_length;
  options.filter_overlong_prompts = data.filter_overlong_prompts;
  options.num_threads = at::get_num_threads();
  return options;
}

template <typename Data>
DatasetOptions training_options(const Data& data, const DecoderConfig& model) {
  DatasetOptions options = options_of(data, model);
  options.test_split_size = data.test_split_size;
  for (const DataSourceConfig& source : data.source)
    options.sources.push_back(to_source(source, data.columns));
  if (data.source.empty()) options.sources.push_back({data.path, {}, "", data.columns});
  return options;
}

DatasetOptions evaluation_options(const DataConfig& data, const DecoderConfig& model) {
  if (data.test_split_size > 0.0) {
    DatasetOptions options = training_options(data, model);
    options.is_held_out = true;
    return options;
  }
  DatasetOptions options = options_of(data, model);
  options.sources = {{data.eval_path, {}, "", data.columns}};
  return options;
}

/// Says what became of the rows, where some are not used or there are several sources.
void report(const Dataset& dataset, const char* part) {
  const RowOrder order(dataset.order(), 0, false);
  for (size_t s = 0; s < dataset.reports().size(); ++s) {
    const SourceReport& r = dataset.reports()[s];
    if (r.num_used == r.num_rows && dataset.reports().size() == 1) continue;
    const auto percent = static_cast<int>(100.0 * order.share(static_cast<int64_t>(s)) + 0.5);
    log_info(part, " data ", r.name, ": ", r.num_used, " of ", r.num_rows, " rows (", r.num_other_split,
             " in the other split, ", r.num_duplicates, " duplicates, ", r.num_overlong, " too long), ",
             percent, "% of the draws");
  }
}

/// A model directory's chat template, read when it is first used. Any number of threads may use one object.
class LazyChatTemplate {
 public:
  LazyChatTemplate(std::filesystem::path model_dir, const std::tm& now)
      : model_dir_(std::move(model_dir)), now_(now) {}

  std::string render(const Json& messages, const RenderOptions& options) {
    std::call_once(is_read_, [&] { template_.emplace(ChatTemplate::from_directory(model_dir_)); });
    ChatRequest request;
    request.messages = messages;
    request.tools = options.tools;
    request.add_generation_prompt = options.add_generation_prompt;
    if (options.continue_final_message) request.continue_final_message = "content";
    if (!options.chat_template_kwargs.is_null()) request.variables = options.chat_template_kwargs;
    return template_->render(request, now_).text;
  }

 private:
  std::filesystem::path model_dir_;
  std::tm now_;
  std::once_flag is_read_;
  std::optional<ChatTemplate> template_;
};

}  // namespace

TextFormat text_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                       const std::tm& now) {
  TextFormat format;
  const auto chat = std::make_shared<LazyChatTemplate>(model_dir, now);
  format.render = [chat](const Json& messages, const RenderOptions& options) {
    return chat->render(messages, options);
  };
  format.tokenize = [&tokenizer](const std::string& text) { return tokenizer.encode(text); };
  format.tokenize_rendered = [&tokenizer](const std::string& text) {
    return tokenizer.encode(text, {.add_special_tokens = false});
  };
  return format;
}

Dataset open_prompts(const DataConfig& data, DataPart part, const TextFormat& format,
                     const DecoderConfig& model) {
  const bool is_training = part == DataPart::kTrain;
  const auto measure = [&](const Row& row) {
    const Prompt prompt = to_prompt(row, format);
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    // One token is the shortest completion. Longer prompts are the data set's to judge.
    if (length < model.context_length) check_prompts({prompt}, model);
    return RowLengths{length, length + 1};
  };
  Dataset dataset(is_training ? training_options(data, model) : evaluation_options(data, model), measure);
  report(dataset, is_training ? "training" : "evaluation");
  return dataset;
}

std::vector<Prompt> all_prompts(const Dataset& dataset, const TextFormat& format) {
  std::vector<Prompt> prompts;
  for (size_t s = 0; s < dataset.reports().size(); ++s) {
    for (int64_t i = 0; i < dataset.reports()[s].num_used; ++i) {
      prompts.push_back(to_prompt(dataset.row({static_cast<int64_t>(s), i}), format));
    }
  }
  return prompts;
}

SftFormat sft_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                     const DecoderConfig& model, const std::tm& now) {
  // What ends completions in the rollout ends them here.
  std::optional<int32_t> eos = tokenizer.eos_token_id();
  if (const auto stops = stop_token_ids(model, &tokenizer); !eos && !stops.empty()) eos = stops.front();
  return {text_format(tokenizer, model_dir, now), eos};
}

SftExample to_sft_example(const Row& row, const SftFormat& format) {
  PromptCompletion pair = to_prompt_completion(row, format.text);
  SftExample example{row.id, std::move(pair.prompt_ids), {}};
  example.completion.token_ids = std::move(pair.completion_ids);
  if (format.eos_id && !pair.is_rendered) example.completion.token_ids.push_back(*format.eos_id);
  if (example.prompt_ids.empty()) throw FormatError(str(row.where, ": the prompt has no tokens"));
  if (example.completion.token_ids.empty())
    throw FormatError(str(row.where, ": the completion has no tokens"));
  return example;
}

Dataset open_examples(const SftDataConfig& data, const SftFormat& format, const DecoderConfig& model) {
  const auto measure = [&](const Row& row) {
    const SftExample example = to_sft_example(row, format);
    const auto prompt = static_cast<int64_t>(example.prompt_ids.size());
    const int64_t total = prompt + static_cast<int64_t>(example.completion.token_ids.size());
    if (total <= model.context_length) {
      check_token_ids(model, example.prompt_ids, example.completion.token_ids, row.where);
    }
    return RowLengths{prompt, total};
  };
  Dataset dataset(training_options(data, model), measure);
  report(dataset, "training");
  return dataset;
}

}  // namespace cohort
