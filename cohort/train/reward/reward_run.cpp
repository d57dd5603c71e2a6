// cohort reward-train as a whole.
#include "cohort/train/reward/reward_run.h"

#include <functional>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/models/pretrained.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/reward/reward_trainer.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_setup.h"

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

}  // namespace

int run_reward_train(const RewardTrainConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto model = load_reward_model(config);
  const auto tokenizer = require_tokenizer(config.model.path, model->config());
  const std::tm start = run_start(config.run, options);
  const RewardFormat format{
      sft_format(*tokenizer, config.model.path, model->config(), start, text_settings(config)),
      tokenizer.get(), config.head, model->config().num_labels};
  const Dataset data = open_reward_examples(config.data, DataPart::kTrain, format, model->config());
  warn_unused_variables(format.sft.text);
  std::vector<RewardExample> held_out;
  if (config.train.eval_steps > 0) {
    held_out = all_reward_examples(
        open_reward_examples(config.data, DataPart::kEvaluation, format, model->config()), format);
  }
  RowCursor rows(data, config.seed, config.data.shuffle_dataset, options.accepts("data"));
  AdamW optimizer(model->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs, data.num_rows(),
                                  config.train.rows_per_step);
  RewardTrainer trainer(config, steps, *model, format, rows, optimizer);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*model, step_shape(config, data)));
  const LoopConfig loop = loop_config(config, steps);
  std::function<EvalRecord()> evaluate;
  if (loop.eval_steps > 0) evaluate = [&] { return trainer.evaluate(held_out); };
  RunLoop run_loop(run, loop, *model, optimizer, trainer, config.model.path, std::move(evaluate));
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  return run_loop.run();
}

}  // namespace cohort
