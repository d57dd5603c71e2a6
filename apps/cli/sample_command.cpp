// cohort sample: completions of given prompts, with their log-probabilities.
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/time_text.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/train/run_data.h"

namespace cohort::cli {
namespace {

struct SampleConfig {
  GenerationConfig generation;
  std::string input, output;

  void describe(FieldVisitor& f) {
    f("input", input, "JSONL: {\"prompt\": text} or {\"prompt_ids\": [...]}; other keys are ignored.");
    f("output", output,
      "JSONL, num_generations lines a line: prompt_index (lines of the input, from 0, blank ones left out), "
      "prompt_ids, "
      "completion_ids, logprobs, finish_reason, text.");
    generation.describe(f);
  }
};

Prompt read_prompt(const Json& row, const std::string& where, const TextFormat* format) {
  if (row.contains("prompt") == row.contains("prompt_ids")) {
    throw FormatError(
        str(where, ": give either \"prompt\", a string, or \"prompt_ids\", a list of token ids"));
  }
  if (row.contains("prompt_ids")) {
    Prompt prompt;
    prompt.id = where;
    prompt.token_ids = read_ids(row, "prompt_ids", where);
    return prompt;
  }
  if (format == nullptr) {
    throw FormatError(
        str(where, ": \"prompt\" needs a tokenizer.json in the model directory; give \"prompt_ids\""));
  }
  return to_prompt({row, where, where}, *format);
}

std::vector<Prompt> read_prompt_rows(const SampleConfig& config, const LoadedModel& model) {
  std::optional<TextFormat> format;
  if (model.tokenizer) format = text_format(*model.tokenizer, config.generation.model, present_time());
  std::vector<Prompt> prompts;
  for_each_row(config.input, [&](const Json& row, const std::string& where) {
    prompts.push_back(read_prompt(row, where, format ? &*format : nullptr));
  });
  if (prompts.empty()) throw FormatError(str(config.input, ": holds no prompts"));
  check_prompts(prompts, model.decoder->config());
  return prompts;
}

Json output_row(int64_t prompt_index, const Prompt& prompt, const Completion& completion) {
  return {{"prompt_index", prompt_index},
          {"prompt_ids", prompt.token_ids},
          {"completion_ids", completion.token_ids},
          {"logprobs", completion.sampler_logprobs},
          {"finish_reason", to_string(completion.finish_reason)},
          {"text", completion.text}};
}

}  // namespace

int sample_command(const Command& self, const Arguments& arguments) {
  SampleConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.generation.model, "model");
  require(config.input, "input");
  require(config.output, "output");
  check_output(config.output);
  const LoadedModel model = load_model(config.generation);
  const std::vector<Prompt> prompts = read_prompt_rows(config, model);

  const SamplingParams params = sampling_params(config.generation, model);
  plan_length(model, prompts, config.generation);
  Sampler sampler(*model.decoder, model.tokenizer.get(), config.generation.cache_tokens);
  RolloutAddress address = rollout_address(config.generation);
  const int64_t num_generations = config.generation.num_generations;
  std::unique_ptr<JsonlWriter> output;  // opened when nothing can be refused any more
  for (const PromptBatch& batch : prompt_batches(prompts, num_generations)) {
    address.first_prompt = static_cast<uint64_t>(batch.first);
    int64_t prompt_index = batch.first;
    const auto groups = sampler.rollout(batch.prompts, num_generations, params, address);
    if (!output) output.reset(new JsonlWriter(open_output(config.output)));
    for (const RolloutGroup& group : groups) {
      for (const Completion& completion : group.completions) {
        output->write(output_row(prompt_index, group.prompt, completion));
      }
      ++prompt_index;
    }
    output->flush();
  }
  if (!model.tokenizer) log_warn(config.generation.model, " has no tokenizer.json: every \"text\" is empty");
  return 0;
}

}  // namespace cohort::cli
