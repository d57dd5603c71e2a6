// cohort score: log-probabilities of given completions.
#include <algorithm>
#include <map>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/core/jsonl_writer.h"
#include "cohort/models/adapter.h"
#include "cohort/models/model_directory.h"
#include "cohort/train/run/packing.h"

namespace cohort::cli {
namespace {

struct ScoreConfig {
  std::string model, adapter, input, output;
  std::string dtype = "float32";
  std::string device = "cpu";
  double temperature = 1.0;
  int64_t tokens_per_microbatch = 8192;
  int64_t threads = 0;

  void describe(FieldVisitor& f) {
    f("model", model, "Hugging Face model directory, an adapter's or a checkpoint's; required.");
    f("adapter", adapter, "PEFT adapter directory to put on the model.");
    f("input", input, "JSONL: {\"prompt_ids\": [...], \"completion_ids\": [...]}.");
    f("output", output, "JSONL: {\"logprobs\": [...]}, one line a line.");
    f("dtype", dtype, "Compute dtype.", one_of({"float32", "bfloat16"}));
    f("device", device, "Where to compute.", one_of({"cpu", "cuda"}));
    f("temperature", temperature, "Divides the logits.", above(0.0));
    f("tokens_per_microbatch", tokens_per_microbatch, "Rows forwarded at once; changes no result.",
      at_least(1));
    f("threads", threads,
      "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores. Changes no result.",
      at_least(0));
  }
};

struct ScoreRow {
  std::vector<int32_t> prompt_ids;
  Completion completion;
};

std::vector<ScoreRow> read_rows(const ScoreConfig& config, const DecoderConfig& model) {
  std::vector<ScoreRow> rows;
  for_each_row(config.input, [&](const Json& row, const std::string& where) {
    rows.push_back({read_ids(row, "prompt_ids", where), {}});
    rows.back().completion.token_ids = read_ids(row, "completion_ids", where);
    check_token_ids(model, rows.back().prompt_ids, rows.back().completion.token_ids, where);
  });
  if (rows.empty()) throw FormatError(str(config.input, ": holds no rows"));
  return rows;
}

/// Neighbouring lines with the same prompt share its rows.
std::vector<PackGroup> group_rows(const std::vector<ScoreRow>& rows) {
  std::vector<PackGroup> groups;
  int64_t place = 0;
  for (const ScoreRow& row : rows) {
    if (groups.empty() || *groups.back().prompt_ids != row.prompt_ids)
      groups.push_back({&row.prompt_ids, {}});
    groups.back().completions.push_back({&row.completion, place++});
  }
  return groups;
}

}  // namespace

int score_command(const Command& self, const Arguments& arguments) {
  ScoreConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  require(config.input, "input");
  require(config.output, "output");
  check_output(config.output);
  set_threads(config.threads);
  const at::NoGradGuard no_grad;
  const ModelPlace place = find_model(config.model, config.adapter);
  const auto decoder = load_adapted(place.model_dir, place.adapter_dir, parse_dtype(config.dtype),
                                    parse_device(config.device));
  const std::vector<ScoreRow> rows = read_rows(config, decoder->config());

  size_t longest = 0;
  for (const ScoreRow& row : rows) {
    longest = std::max(longest, row.prompt_ids.size() + row.completion.token_ids.size());
  }
  decoder->plan_length(static_cast<int64_t>(longest));

  std::vector<std::vector<float>> logprobs(rows.size());
  for (const auto& microbatch : cut_into_microbatches(group_rows(rows), config.tokens_per_microbatch)) {
    const auto batch = pack(microbatch, decoder->device());
    const at::Tensor values = packed_logprobs(*decoder, *batch, config.temperature).logprobs.cpu();
    const float* value = values.const_data_ptr<float>();
    for (const PackedCompletion& packed : batch->completions) {
      std::vector<float>& own = logprobs[packed.place];
      own.assign(value, value + packed.completion->num_sampled());
      value += own.size();
      check_finite(own, config.model);
    }
  }
  JsonlWriter output = open_output(config.output);
  for (const std::vector<float>& own : logprobs) output.write({{"logprobs", own}});
  output.flush();
  return 0;
}

}  // namespace cohort::cli
