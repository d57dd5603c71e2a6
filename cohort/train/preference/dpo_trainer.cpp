#include "cohort/train/preference/dpo_trainer.h"

#include <cmath>
#include <cstdio>

#include "cohort/train/run/metrics.h"
#include "cohort/train/run/update.h"

namespace cohort {
namespace {

std::vector<Json> pair_rows(const std::vector<PreferenceExample>& batch) {
  std::vector<Json> rows;
  rows.reserve(batch.size());
  for (const PreferenceExample& example : batch) {
    rows.push_back({{"prompt_id", example.id},
                    {"prompt_ids", example.prompt_ids},
                    {"chosen_ids", example.completions[0].token_ids},
                    {"rejected_ids", example.completions[1].token_ids}});
  }
  return rows;
}

}  // namespace

PreferenceOptions preference_options(const DpoConfig& config) {
  return {.objective = config.objective,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute,
          .router_aux_loss_coef = config.train.router_aux_loss_coef};
}

DpoTrainer::DpoTrainer(const DpoConfig& config, int64_t num_updates, Decoder& policy, ReferenceSums reference,
                       const SftFormat& format, RowCursor& rows, AdamW& optimizer)
    : config_(config),
      num_updates_(num_updates),
      policy_(policy),
      reference_(std::move(reference)),
      format_(format),
      rows_(rows),
      optimizer_(optimizer) {}

std::vector<double> DpoTrainer::reference_sums(const std::vector<PreferenceExample>& batch) const {
  return reference_ ? reference_(batch) : std::vector<double>();
}

StepReport DpoTrainer::step(int64_t) {
  StepReport record;
  StepTimer timer(record.timings);
  std::vector<PreferenceExample> batch;
  for (const Row& row : rows_.next(config_.train.pairs_per_step))
    batch.push_back(to_preference_example(row, format_));
  const std::vector<double> ref_sums = reference_sums(batch);
  if (reference_) timer.lap("timing_s/ref");
  optimizer_.zero_grad();
  const PreferenceResult result =
      accumulate_preference_gradient(policy_, batch, ref_sums, preference_options(config_));
  const Update update = update_weights(policy_, optimizer_, config_.optimizer, num_updates_, result.loss);
  record.is_finite = update.is_finite;
  if (!record.is_finite) record.nonfinite = pair_rows(batch);
  num_tokens_ += result.num_tokens;
  timer.lap("timing_s/update_actor");
  timer.finish(result.num_tokens);
  for (const auto& [name, value] : result.metrics.values()) record.metrics.emplace_back(name, value);
  if (result.aux_loss) record.metrics.emplace_back("aux_loss", *result.aux_loss);
  append(record.metrics, {{"grad_norm", update.grad_norm},
                          {"learning_rate", update.learning_rate},
                          {"epoch", rows_.epoch()},
                          {"num_tokens", static_cast<double>(num_tokens_)}});
  char text[64];
  std::snprintf(text, sizeof(text), "loss %.4f  accuracy %.3f", result.loss,
                find_metric(record.metrics, "rewards/accuracies"));
  record.summary = text;
  return record;
}

EvalRecord DpoTrainer::evaluate(const std::vector<PreferenceExample>& held_out) {
  if (held_out_sums_.empty()) held_out_sums_ = reference_sums(held_out);
  const at::NoGradGuard no_grad;
  const PreferenceResult result =
      accumulate_preference_gradient(policy_, held_out, held_out_sums_, preference_options(config_));
  EvalRecord record;
  if (std::isfinite(result.loss)) record.score = -result.loss;
  for (const auto& [name, value] : result.metrics.values())
    record.metrics.emplace_back("eval_" + name, value);
  return record;
}

Json DpoTrainer::save() const { return {{"rows", rows_.save()}, {"num_tokens", num_tokens_}}; }

void DpoTrainer::load(const Json& state) {
  rows_.load(state.at("rows"));
  num_tokens_ = state.at("num_tokens").get<int64_t>();
}

}  // namespace cohort
