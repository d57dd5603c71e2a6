// cohort sft as a whole.
#include "cohort/train/supervised/sft_run.h"

#include <algorithm>

#include "cohort/train/run/memory_plan.h"
#include "cohort/train/supervised/sft_data.h"

namespace cohort {
namespace {

StepShape step_shape(const SftConfig& config, int64_t longest_sequence) {
  return {.longest_sequence = longest_sequence,
          .rows = longest_sequence * config.train.sequences_per_step,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute};
}

SftFormat example_format(const SftConfig& config, const Tokenizer& tokenizer, const DecoderConfig& model,
                         const std::tm& start) {
  SftFormat format = sft_format(tokenizer, config.model.path, model, start, text_settings(config));
  format.assistant_only_loss = config.train.assistant_only_loss;
  format.completion_only_loss = config.train.completion_only_loss;
  format.max_length = config.data.max_length;
  return format;
}

std::vector<SftExample> held_out_examples(const SftConfig& config, const SftFormat& format,
                                          const DecoderConfig& model) {
  if (config.train.eval_steps == 0) return {};
  return all_examples(open_examples(config.data, DataPart::kEvaluation, format, model), format);
}

int64_t longest_of(const std::vector<SftExample>& examples) {
  int64_t longest = 0;
  for (const SftExample& example : examples)
    longest = std::max(longest, std::ssize(example.prompt_ids) + std::ssize(example.completion.token_ids));
  return longest;
}

}  // namespace

SftRun::SftRun(const SftConfig& config, const ResumeOptions& options)
    : config_(checked(config, options)),
      start_(run_start(config_.run, options)),
      model_(load_trained_model(config_)),
      tokenizer_(require_tokenizer(config_.model.path, model_->config())),
      format_(example_format(config_, *tokenizer_, model_->config(), start_)),
      data_(open_examples(config_.data, DataPart::kTrain, format_, model_->config())),
      held_out_(held_out_examples(config_, format_, model_->config())),
      rows_(data_, config_.seed, config_.data.shuffle_dataset, options.accepts("data")),
      optimizer_(model_->parameters(), config_.optimizer) {
  warn_unused_variables(format_.text);
  const StepShape shape = step_shape(config_, std::max(data_.longest_total(), longest_of(held_out_)));
  model_->plan_length(shape.longest_sequence);
  const int64_t steps = num_steps(config_.train.max_steps, config_.train.num_train_epochs, data_.num_rows(),
                                  config_.train.sequences_per_step);
  trainer_.emplace(config_, steps, *model_, format_, rows_, optimizer_);
  directory_.emplace(open_run(config_, options, start_));
  report_memory(plan_memory(*model_, shape), &*directory_);
  std::function<EvalRecord()> evaluate;
  if (config_.train.eval_steps > 0) evaluate = [this] { return trainer_->evaluate(held_out_); };
  open_loop(config_, options, steps, optimizer_, std::move(evaluate));
}

Metrics SftRun::evaluate_on(const std::vector<std::string>& files) {
  SftDataConfig rows = config_.data;
  rows.eval_path = files;
  rows.test_split_size = 0.0;
  return trainer_
      ->evaluate(all_examples(open_examples(rows, DataPart::kEvaluation, format_, model_->config()), format_))
      .metrics;
}

int run_sft(const SftConfig& config, const ResumeOptions& options) { return SftRun(config, options).run(); }

}  // namespace cohort
