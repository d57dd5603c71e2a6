// cohort sample: completions of given prompts, with their log-probabilities.
#include <iostream>
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/time_text.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/text/text_stream.h"
#include "cohort/train/run/generation_defaults.h"
#include "cohort/train/run/run_data.h"

namespace cohort::cli {
namespace {

struct SampleConfig {
  GenerationConfig generation;
  std::string prompt, input, output;
  bool raw = false;

  void describe(FieldVisitor& f) {
    f("prompt", prompt,
      "One prompt, in place of `input`: a user message, under the model's chat template if it has one.");
    f("raw", raw, "With `prompt`: continue the text as it is, without a chat template.");
    f("input", input, "JSONL: {\"prompt\": text} or {\"prompt_ids\": [...]}; other keys are ignored.");
    f("output", output,
      "With `prompt`, the text goes to standard output where this is unset. JSONL, num_generations lines a "
      "line: "
      "prompt_index (lines of the input, from 0, blank ones left out), "
      "prompt_ids, "
      "completion_ids, logprobs, finish_reason, text.");
    generation.describe(f);
  }

  void settle() const { generation.settle(); }
};

/// Throws ConfigError for flags of conversations, which raw text ignores.
void check_raw(const TextSettings& text) {
  for (const auto& [is_set, flag] : {std::pair(!text.system_prompt.empty(), "--system_prompt"),
                                     {!text.chat_template.empty(), "--chat_template"},
                                     {!text.chat_template_kwargs.empty(), "--chat_template_kwargs"}}) {
    if (is_set) throw ConfigError(str(flag, " and --raw exclude each other; remove one of them"));
  }
}

/// Throws ConfigError for flags that lack or exclude each other.
void check_sources(const SampleConfig& config) {
  require(config.generation.model, "model");
  if (config.prompt.empty()) {
    if (config.raw) throw ConfigError("--raw has no effect without --prompt");
    if (config.input.empty()) throw ConfigError("--prompt or --input is required");
    require(config.output, "output");
  } else if (!config.input.empty()) {
    throw ConfigError("--prompt and --input exclude each other; give one of them");
  }
  if (config.raw) check_raw(config.generation.text);
  if (!config.output.empty()) check_output(config.output);
}

/// The row that a prompt on the command line stands for.
Json prompt_row(const SampleConfig& config) {
  if (config.raw || !has_chat_template(config.generation)) return {{"prompt", config.prompt}};
  return {{"prompt", Json::array({{{"role", "user"}, {"content", config.prompt}}})}};
}

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
  if (model.tokenizer) {
    format = text_format(*model.tokenizer, config.generation.model, present_time(), config.generation.text);
  }
  std::vector<Prompt> prompts;
  if (!config.prompt.empty()) {
    prompts.push_back(read_prompt(prompt_row(config), "--prompt", format ? &*format : nullptr));
  } else {
    for_each_row(config.input, [&](const Json& row, const std::string& where) {
      prompts.push_back(read_prompt(row, where, format ? &*format : nullptr));
    });
  }
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

/// Prints one completion as it is drawn; several with a line before each.
void print_completions(const SampleConfig& config, const LoadedModel& model, const Prompt& prompt,
                       const SamplingParams& params, Sampler& sampler) {
  RolloutAddress address = rollout_address(config.generation);
  for (int64_t i = 0; i < config.generation.num_generations; ++i) {
    if (config.generation.num_generations > 1) std::cout << "--- completion " << i + 1 << "\n";
    address.first_sample = static_cast<uint64_t>(i);
    TextStream stream(*model.tokenizer, params.stop_strings,
                      {.skip_special_tokens = params.skip_special_tokens});
    const Completion completion = sampler.stream(prompt, params, address, [&](const SampledToken& token) {
      std::cout << stream.push(token.id) << std::flush;
      return true;
    });
    check_finite(completion.sampler_logprobs, config.generation.model);
    std::cout << stream.finish(completion.text) << '\n' << std::flush;
    if (completion.finish_reason == FinishReason::kLength)
      log_info("cut after ", completion.token_ids.size(), " tokens, without a stop");
  }
}

/// Writes the completions of all prompts as JSONL.
void write_completions(const SampleConfig& config, const std::vector<Prompt>& prompts,
                       const SamplingParams& params, Sampler& sampler) {
  RolloutAddress address = rollout_address(config.generation);
  const int64_t num_generations = config.generation.num_generations;
  std::unique_ptr<JsonlWriter> output;  // opened when nothing can be refused any more
  for (const PromptBatch& batch : prompt_batches(prompts, num_generations)) {
    address.first_prompt = static_cast<uint64_t>(batch.first);
    int64_t prompt_index = batch.first;
    const auto groups = sampler.rollout(batch.prompts, num_generations, params, address);
    for_each_sample(groups, [&](const Sample& sample) {
      check_finite(sample.completion.sampler_logprobs, config.generation.model);
    });
    if (!output) output.reset(new JsonlWriter(open_output(config.output)));
    for (const Group& group : groups) {
      for (const Sample& sample : group.samples)
        output->write(output_row(prompt_index, group.prompt, sample.completion));
      ++prompt_index;
    }
    output->flush();
  }
}

}  // namespace

int sample_command(const Command& self, const Arguments& arguments) {
  SampleConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  check_sources(config);
  const LoadedModel model = load_model(config.generation);
  const std::vector<Prompt> prompts = read_prompt_rows(config, model);

  const SamplingParams params = sampling_params(config.generation, model);
  log_ignored_sampling_defaults(config.generation.model);
  check_room(model, prompts, config.generation);
  plan_length(model, prompts, config.generation);
  Sampler sampler(*model.decoder, model.tokenizer.get(), config.generation.cache_tokens);
  if (config.output.empty()) {
    print_completions(config, model, prompts.front(), params, sampler);
  } else {
    write_completions(config, prompts, params, sampler);
  }
  if (!model.tokenizer) log_warn(config.generation.model, " has no tokenizer.json: every \"text\" is empty");
  return 0;
}

}  // namespace cohort::cli
