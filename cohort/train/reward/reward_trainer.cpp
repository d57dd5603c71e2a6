#include "cohort/train/reward/reward_trainer.h"

#include <cstdio>

#include "cohort/train/run/metrics.h"
#include "cohort/train/run/update.h"

namespace cohort {
namespace {

double share(double part, int64_t whole) { return whole > 0 ? part / static_cast<double>(whole) : 0.0; }

std::vector<Json> example_rows(const std::vector<RewardExample>& examples) {
  std::vector<Json> rows;
  rows.reserve(examples.size());
  for (const RewardExample& example : examples) {
    rows.push_back(
        {{"id", example.id}, {"prompt_ids", example.prompt_ids}, {"completion_ids", example.completions}});
  }
  return rows;
}

}  // namespace

Metrics reward_loss_metrics(const RewardLoss& loss, bool is_pair) {
  Metrics metrics{{"loss", loss.loss},
                  {"accuracy", share(static_cast<double>(loss.num_right), loss.num_items)}};
  if (is_pair) metrics.emplace_back("margin", share(loss.margin_sum, loss.num_items));
  append(metrics, {{"min_reward", loss.reward_min},
                   {"mean_reward", share(loss.reward_sum, loss.num_rewards)},
                   {"max_reward", loss.reward_max}});
  return metrics;
}

RewardTrainer::RewardTrainer(const RewardTrainConfig& config, int64_t num_updates, Decoder& model,
                             const RewardFormat& format, RowCursor& rows, AdamW& optimizer)
    : config_(config),
      num_updates_(num_updates),
      model_(model),
      format_(format),
      rows_(rows),
      optimizer_(optimizer) {}

RewardLossOptions RewardTrainer::options() const {
  return {config_.train.tokens_per_microbatch, config_.train.recompute,
          config_.head.center_rewards_coefficient};
}

StepReport RewardTrainer::step(int64_t) {
  StepReport record;
  StepTimer timer(record.timings);
  std::vector<RewardExample> batch;
  for (const Row& row : rows_.next(config_.train.rows_per_step))
    batch.push_back(to_reward_example(row, format_));
  optimizer_.zero_grad();
  const RewardLoss loss = accumulate_reward_gradient(model_, batch, options());
  const Update update = update_weights(model_, optimizer_, config_.optimizer, num_updates_, loss.loss);
  record.is_finite = update.is_finite;
  if (!record.is_finite) record.nonfinite = example_rows(batch);
  num_tokens_ += loss.num_tokens;
  timer.lap("timing_s/update_actor");
  timer.finish(loss.num_tokens);
  record.metrics = reward_loss_metrics(loss, config_.head.type == "model");
  append(record.metrics, {{"grad_norm", update.grad_norm},
                          {"learning_rate", update.learning_rate},
                          {"epoch", rows_.epoch()},
                          {"num_tokens", static_cast<double>(num_tokens_)}});
  char text[64];
  std::snprintf(text, sizeof(text), "loss %.4f  accuracy %.3f", loss.loss,
                share(static_cast<double>(loss.num_right), loss.num_items));
  record.summary = text;
  return record;
}

EvalRecord RewardTrainer::evaluate(const std::vector<RewardExample>& examples) const {
  const at::NoGradGuard no_grad;
  const RewardLoss loss = accumulate_reward_gradient(model_, examples, options());
  EvalRecord record;
  record.score = share(static_cast<double>(loss.num_right), loss.num_items);
  for (const auto& [name, value] : reward_loss_metrics(loss, config_.head.type == "model"))
    record.metrics.emplace_back("eval_" + name, value);
  return record;
}

Json RewardTrainer::save() const { return {{"rows", rows_.save()}, {"num_tokens", num_tokens_}}; }

void RewardTrainer::load(const Json& state) {
  rows_.load(state.at("rows"));
  num_tokens_ = state.at("num_tokens").get<int64_t>();
}

}  // namespace cohort
