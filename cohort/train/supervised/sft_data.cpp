#include "cohort/train/supervised/sft_data.h"

#include "cohort/train/run/data_options.h"
#include "cohort/train/run/packing.h"

namespace cohort {

Dataset open_examples(const SftDataConfig& data, DataPart part, const SftFormat& format,
                      const DecoderConfig& model) {
  const auto measure = [&](const Row& row) {
    const SftExample example = to_sft_example(row, format);
    const auto prompt = static_cast<int64_t>(example.prompt_ids.size());
    const int64_t total = prompt + static_cast<int64_t>(example.completion.token_ids.size());
    if (total <= model.context_length) {
      check_token_ids(model, example.prompt_ids, example.completion.token_ids, row.where);
    }
    return RowLengths{prompt, total};
  };
  const bool is_training = part == DataPart::kTrain;
  const DatasetOptions options =
      is_training ? training_options(data, model) : evaluation_options(data, model);
  Dataset dataset(with_room_for_completions(options, data), measure);
  report_rows(dataset, is_training ? "training" : "evaluation");
  return dataset;
}

std::vector<SftExample> all_examples(const Dataset& dataset, const SftFormat& format) {
  std::vector<SftExample> examples;
  dataset.for_each_row([&](const Row& row) { examples.push_back(to_sft_example(row, format)); });
  return examples;
}

}  // namespace cohort
