// cohort sft as a whole.
#include "cohort/train/supervised/sft_run.h"

#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/run/run_loop.h"
#include "cohort/train/run/run_setup.h"
#include "cohort/train/supervised/sft_data.h"
#include "cohort/train/supervised/sft_trainer.h"

namespace cohort {
namespace {

StepShape step_shape(const SftConfig& config, const Dataset& data) {
  return {.longest_sequence = data.longest_total(),
          .rows = data.longest_total() * config.train.sequences_per_step,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute};
}

}  // namespace

int run_sft(const SftConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto model = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, model->config());
  const auto tokenizer = require_tokenizer(config.model.path, model->config());
  const std::tm start = run_start(config.run, options);
  SftFormat format = sft_format(*tokenizer, config.model.path, model->config(), start, text_settings(config));
  format.assistant_only_loss = config.train.assistant_only_loss;
  const Dataset data = open_examples(config.data, format, model->config());
  warn_unused_variables(format.text);
  RowCursor rows(data, config.seed, config.data.shuffle_dataset, options.accepts("data"));
  const StepShape shape = step_shape(config, data);
  model->plan_length(shape.longest_sequence);
  AdamW optimizer(model->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs, data.num_rows(),
                                  config.train.sequences_per_step);
  SftTrainer trainer(config, steps, *model, format, rows, optimizer);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*model, shape));
  RunLoop run_loop(run, loop_config(config, steps), *model, optimizer, trainer, config.model.path);
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  return run_loop.run();
}

}  // namespace cohort
