// From the data of a recipe to the options of a data set.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>
#include <string>

#include "cohort/models/decoder_config.h"
#include "cohort/tasks/dataset.h"
#include "cohort/train/run/common_config.h"

namespace cohort {

inline DataSource to_source(const DataSourceConfig& config,
                            const std::map<std::string, std::string>& columns) {
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
  if constexpr (requires { data.max_length; }) {
    if (data.max_length) options.filter_overlong_prompts = true;
  }
  return options;
}

/// Leaves out the rows whose prompt has no token less than `max_length`: a cut would leave nothing to learn.
template <typename Data>
DatasetOptions with_room_for_completions(DatasetOptions options, const Data& data) {
  if (data.max_length)
    options.max_prompt_length = std::min(options.max_prompt_length.value_or(INT64_MAX), *data.max_length - 1);
  return options;
}

/// The rows to train on.
template <typename Data>
DatasetOptions training_options(const Data& data, const DecoderConfig& model) {
  DatasetOptions options = options_of(data, model);
  options.test_split_size = data.test_split_size;
  for (const DataSourceConfig& source : data.source)
    options.sources.push_back(to_source(source, data.columns));
  if (data.source.empty()) options.sources.push_back({data.path, {}, "", data.columns});
  return options;
}

/// The rows that are held out: a file of their own, or the share that training leaves.
template <typename Data>
DatasetOptions evaluation_options(const Data& data, const DecoderConfig& model) {
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
void report_rows(const Dataset& dataset, const char* part);

}  // namespace cohort
