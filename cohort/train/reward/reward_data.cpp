#include "cohort/train/reward/reward_data.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/reward_models/steps.h"
#include "cohort/train/preference/preference_data.h"
#include "cohort/train/run/data_options.h"

namespace cohort {
namespace {

const Json& column(const Row& row, const char* name) {
  const auto found = row.columns.find(name);
  if (found == row.columns.end()) throw FormatError(str(row.where, ": the column \"", name, "\" is missing"));
  return *found;
}

RewardExample read_pair(const Row& row, const RewardFormat& format) {
  PreferenceExample pair = to_preference_example(row, format.sft);
  RewardExample example{.id = row.id, .prompt_ids = std::move(pair.prompt_ids)};
  for (Completion& completion : pair.completions)
    example.completions.push_back(std::move(completion.token_ids));
  if (row.columns.contains("margin")) {
    const Json& margin = row.columns.at("margin");
    if (!margin.is_number()) throw FormatError(str(row.where, ": \"margin\" must be a number"));
    example.margin = margin.get<double>();
  }
  return example;
}

/// The steps joined by separators, as a policy would write them.
std::string join_steps(const Row& row, const std::string& separator) {
  const Json& steps = column(row, "completions");
  if (!steps.is_array() || steps.empty())
    throw FormatError(str(row.where, ": \"completions\" must be a list of steps"));
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].is_string()) throw FormatError(str(row.where, ": step ", i + 1, " is no string"));
    text += (i > 0 ? separator : "") + steps[i].get<std::string>();
  }
  return text;
}

int64_t read_label(const Json& label, int64_t num_labels) {
  if (label.is_boolean()) return label.get<bool>();
  return label.is_number_integer() && label >= 0 && label < num_labels ? label.get<int64_t>() : -1;
}

RewardExample read_steps(const Row& row, const RewardFormat& format) {
  const std::string& separator = format.head.step_separator;
  const std::string text = join_steps(row, separator);
  const Prompt prompt = to_prompt(row, format.sft.text);
  StepTokens steps = step_tokens(*format.tokenizer, format.sft.text.tokenize_rendered(text), text, separator);
  const Json& labels = column(row, "labels");
  const size_t num_steps = row.columns.at("completions").size();
  if (!labels.is_array() || labels.size() != num_steps)
    throw FormatError(
        str(row.where, ": \"labels\" must be a list with one label for each of the ", num_steps, " steps"));
  if (steps.ends.size() != num_steps) {
    throw FormatError(str(row.where, ": the ", num_steps, " steps make ", steps.ends.size(),
                          " when they are joined: none may be blank or hold the separator ",
                          to_json_text(separator)));
  }
  RewardExample example{.id = row.id, .prompt_ids = prompt.token_ids, .completions = {std::move(steps.ids)}};
  example.step_ends = std::move(steps.ends);
  for (const Json& label : labels) {
    example.step_labels.push_back(read_label(label, format.num_labels));
    if (example.step_labels.back() < 0)
      throw FormatError(str(row.where, ": the label ", label.dump(), " is none of the model's ",
                            format.num_labels, "; give true, false or a number from 0"));
  }
  return example;
}

void check_ids(const RewardExample& example, const DecoderConfig& model, const std::string& where) {
  const auto check = [&](const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) {
      if (id < model.vocab_size) continue;
      throw FormatError(str(where, ": id ", id, " lies outside the vocabulary of ", model.vocab_size));
    }
  };
  check(example.prompt_ids);
  for (const std::vector<int32_t>& completion : example.completions) check(completion);
}

/// The earlier files take their share of the draws, the others keep their proportions.
void add_replay(const RewardDataConfig& data, DatasetOptions& options) {
  if (data.replay_path.empty()) return;
  double total = 0.0;
  for (const DataSource& source : options.sources) total += source.weight.value_or(1.0);
  for (DataSource& source : options.sources)
    source.weight = (1.0 - data.replay_share) * source.weight.value_or(1.0) / total;
  options.sources.push_back({data.replay_path, data.replay_share, "", data.columns});
}

}  // namespace

int64_t RewardExample::num_rows() const {
  auto rows = static_cast<int64_t>(prompt_ids.size());
  for (const std::vector<int32_t>& completion : completions) rows += static_cast<int64_t>(completion.size());
  return rows;
}

RewardExample to_reward_example(const Row& row, const RewardFormat& format) {
  return format.head.type == "process" ? read_steps(row, format) : read_pair(row, format);
}

Dataset open_reward_examples(const RewardDataConfig& data, DataPart part, const RewardFormat& format,
                             const DecoderConfig& model) {
  const bool is_training = part == DataPart::kTrain;
  const auto measure = [&](const Row& row) {
    const RewardExample example = to_reward_example(row, format);
    const auto prompt = static_cast<int64_t>(example.prompt_ids.size());
    int64_t longest = 0;
    for (const std::vector<int32_t>& completion : example.completions)
      longest = std::max(longest, static_cast<int64_t>(completion.size()));
    check_ids(example, model, row.where);
    return RowLengths{prompt, prompt + longest};
  };
  DatasetOptions options = is_training ? training_options(data, model) : evaluation_options(data, model);
  if (data.max_length) options.context_length = std::min(options.context_length, *data.max_length);
  if (is_training) add_replay(data, options);
  Dataset dataset(options, measure);
  report_rows(dataset, is_training ? "training" : "evaluation");
  return dataset;
}

std::vector<RewardExample> all_reward_examples(const Dataset& dataset, const RewardFormat& format) {
  std::vector<RewardExample> examples;
  dataset.for_each_row([&](const Row& row) { examples.push_back(to_reward_example(row, format)); });
  return examples;
}

}  // namespace cohort
