#include "cohort/train/supervised/sft_data.h"

#include "cohort/train/run/data_options.h"
#include "cohort/train/run/packing.h"

namespace cohort {

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
  report_rows(dataset, "training");
  return dataset;
}

}  // namespace cohort
