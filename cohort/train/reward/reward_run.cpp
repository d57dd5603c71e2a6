// cohort reward-train as a whole.
#include "cohort/train/reward/reward_run.h"

#include <functional>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/models/pretrained.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/run/memory_plan.h"

namespace cohort {
namespace {

std::unique_ptr<Decoder> load_reward_model(const RewardTrainConfig& config) {
  const bool is_pair = config.head.type == "model";
  const HeadKind head = is_pair ? HeadKind::kSequenceClassification : HeadKind::kTokenClassification;
  auto model =
      load_with_head(config.model.path, parse_dtype(config.model.dtype), parse_device(config.model.device),
                     head, is_pair ? 1 : 2, static_cast<uint64_t>(config.seed));
  const int64_t num_labels = model->config().num_labels;
  if (is_pair ? num_labels != 1 : num_labels < 2) {
    throw FormatError(str(config.model.path, ": has ", num_labels, " labels; head.type = \"",
                          config.head.type, "\" trains ", is_pair ? "one" : "two or more"));
  }
  for (const std::string& note : model->config().notes) log_info("config.json: ", note);
  return model;
}

StepShape step_shape(const RewardTrainConfig& config, const Dataset& data) {
  // Of a pair both completions are forwarded at once.
  const int64_t longest = data.longest_total() * (config.head.type == "model" ? 2 : 1);
  return {.longest_sequence = longest,
          .rows = longest * config.train.rows_per_step,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute,
          .is_side_by_side = false};
}

std::vector<RewardExample> held_out_examples(const RewardTrainConfig& config, const RewardFormat& format,
                                             const DecoderConfig& model) {
  if (config.train.eval_steps == 0) return {};
  return all_reward_examples(open_reward_examples(config.data, DataPart::kEvaluation, format, model), format);
}

}  // namespace

RewardRun::RewardRun(const RewardTrainConfig& config, const ResumeOptions& options)
    : config_(checked(config, options)),
      start_(run_start(config_.run, options)),
      model_(load_reward_model(config_)),
      tokenizer_(require_tokenizer(config_.model.path, model_->config())),
      format_{sft_format(*tokenizer_, config_.model.path, model_->config(), start_, text_settings(config_)),
              tokenizer_.get(), config_.head, model_->config().num_labels},
      data_(open_reward_examples(config_.data, DataPart::kTrain, format_, model_->config())),
      held_out_(held_out_examples(config_, format_, model_->config())),
      rows_(data_, config_.seed, config_.data.shuffle_dataset, options.accepts("data")),
      optimizer_(model_->parameters(), config_.optimizer) {
  warn_unused_variables(format_.sft.text);
  const int64_t steps = num_steps(config_.train.max_steps, config_.train.num_train_epochs, data_.num_rows(),
                                  config_.train.rows_per_step);
  trainer_.emplace(config_, steps, *model_, format_, rows_, optimizer_);
  directory_.emplace(open_run(config_, options, start_));
  report_memory(plan_memory(*model_, step_shape(config_, data_)), &*directory_);
  std::function<EvalRecord()> evaluate;
  if (config_.train.eval_steps > 0) evaluate = [this] { return trainer_->evaluate(held_out_); };
  open_loop(config_, options, steps, optimizer_, std::move(evaluate));
}

Metrics RewardRun::evaluate_on(const std::vector<std::string>& files) {
  RewardDataConfig rows = config_.data;
  rows.eval_path = files;
  rows.test_split_size = 0.0;
  return trainer_
      ->evaluate(all_reward_examples(
          open_reward_examples(rows, DataPart::kEvaluation, format_, model_->config()), format_))
      .metrics;
}

int run_reward_train(const RewardTrainConfig& config, const ResumeOptions& options) {
  return RewardRun(config, options).run();
}

}  // namespace cohort
