#include "cohort/train/supervised/sft_trainer.h"

#include <algorithm>
#include <cmath>

#include "cohort/train/run/metrics.h"
#include "cohort/train/run/microbatches.h"
#include "cohort/train/run/update.h"

namespace cohort {
namespace {

std::vector<Json> example_rows(const std::vector<SftExample>& examples) {
  std::vector<Json> rows;
  rows.reserve(examples.size());
  for (const SftExample& example : examples) {
    rows.push_back({{"prompt_id", example.id},
                    {"prompt_ids", example.prompt_ids},
                    {"completion_ids", example.completion.token_ids}});
  }
  return rows;
}

}  // namespace

/// Over the batch of one step.
struct SftTrainer::Sums {
  double loss = 0.0;
  double entropy = 0.0;
  double aux_loss = 0.0;
  int64_t num_loss_tokens = 0;
  int64_t num_tokens = 0;
};

SftTrainer::SftTrainer(const SftConfig& config, int64_t num_updates, Decoder& model, const SftFormat& format,
                       RowCursor& rows, AdamW& optimizer)
    : config_(config),
      num_updates_(num_updates),
      model_(model),
      format_(format),
      rows_(rows),
      optimizer_(optimizer) {}

/// Each row draws its dropout at (seed, update, place of its sequence in the batch, position).
AdapterUse SftTrainer::adapters_for(const std::vector<PackGroup>& microbatch, uint64_t sequence) const {
  if (!model_.is_adapted() || config_.lora.dropout == 0.0 || !at::GradMode::is_enabled()) return {};
  AdapterDropout dropout{.probability = config_.lora.dropout,
                         .seed = static_cast<uint64_t>(config_.seed),
                         .step = static_cast<uint64_t>(optimizer_.num_updates())};
  for (const PackGroup& group : microbatch) {
    const auto rows = static_cast<uint64_t>(num_rows(group));
    for (uint64_t i = 0; i < rows; ++i) dropout.rows.push_back(sequence << 32 | i);
    ++sequence;
  }
  return {.dropout = std::make_shared<const AdapterDropout>(std::move(dropout))};
}

std::vector<SftExample> SftTrainer::next_examples() {
  std::vector<SftExample> examples;
  for (const Row& row : rows_.next(config_.train.sequences_per_step)) {
    examples.push_back(to_sft_example(row, format_));
  }
  return examples;
}

SftTrainer::Sums SftTrainer::accumulate_gradient(const std::vector<SftExample>& batch) {
  Sums sums;
  std::vector<PackGroup> groups;
  for (const SftExample& example : batch) {
    groups.push_back({&example.prompt_ids, {&example.completion}});
    sums.num_loss_tokens += example.completion.num_sampled();
    sums.num_tokens += static_cast<int64_t>(example.prompt_ids.size() + example.completion.token_ids.size());
  }
  const bool learns = at::GradMode::is_enabled();
  const double balance =
      learns ? balance_weight(model_.config(), groups, config_.train.router_aux_loss_coef) : 0.0;
  const auto pieces = cut_into_microbatches(groups, config_.train.tokens_per_microbatch);
  std::vector<uint64_t> first_sequence{0};
  for (const auto& piece : pieces) first_sequence.push_back(first_sequence.back() + piece.size());
  std::vector<Sums> results(pieces.size());
  for_each_microbatch(model_, std::ssize(pieces), [&](int64_t i) {
    const auto packed = pack(pieces[i], model_.options());
    packed->balance_experts(balance);
    packed->input.adapters = adapters_for(pieces[i], first_sequence[i]);
    packed->input.recompute = config_.train.recompute;
    const TokenLogprobs values = packed_logprobs(model_, *packed, 1.0);
    const at::Tensor loss = -values.logprobs.sum(at::kDouble) / static_cast<double>(sums.num_loss_tokens);
    results[i].loss = loss.item<double>();
    results[i].entropy = values.entropies.sum(at::kDouble).item<double>();
    if (!learns || !std::isfinite(results[i].loss)) return;
    loss.backward();
    results[i].aux_loss = packed->balance.loss;
  });
  for (const Sums& piece : results) {
    sums.loss += piece.loss;
    sums.entropy += piece.entropy;
    sums.aux_loss += piece.aux_loss;
  }
  return sums;
}

StepReport SftTrainer::step(int64_t) {
  StepReport record;
  StepTimer timer(record.timings);
  const std::vector<SftExample> batch = next_examples();
  optimizer_.zero_grad();
  const Sums sums = accumulate_gradient(batch);
  const Update update = update_weights(model_, optimizer_, config_.optimizer, num_updates_, sums.loss);
  record.is_finite = update.is_finite;
  if (!record.is_finite) record.nonfinite = example_rows(batch);
  num_tokens_ += sums.num_tokens;
  timer.lap("timing_s/update_actor");
  timer.finish(sums.num_tokens);
  record.metrics = {{"loss", sums.loss},
                    {"entropy", sums.entropy / static_cast<double>(sums.num_loss_tokens)},
                    {"grad_norm", update.grad_norm},
                    {"learning_rate", update.learning_rate},
                    {"epoch", rows_.epoch()},
                    {"num_tokens", static_cast<double>(num_tokens_)}};
  if (config_.train.router_aux_loss_coef != 0.0) record.metrics.emplace_back("aux_loss", sums.aux_loss);
  char text[64];
  std::snprintf(text, sizeof(text), "loss %.4f", sums.loss);
  record.summary = text;
  return record;
}

EvalRecord SftTrainer::evaluate(const std::vector<SftExample>& held_out) {
  const at::NoGradGuard no_grad;
  const Sums sums = accumulate_gradient(held_out);
  EvalRecord record;
  if (std::isfinite(sums.loss)) record.score = -sums.loss;
  record.metrics = {{"eval_loss", sums.loss},
                    {"eval_entropy", sums.entropy / static_cast<double>(sums.num_loss_tokens)}};
  return record;
}

Json SftTrainer::save() const { return {{"prompts", rows_.save()}, {"num_tokens", num_tokens_}}; }

void SftTrainer::load(const Json& state) {
  rows_.load(state.at("prompts"));
  num_tokens_ = state.at("num_tokens").get<int64_t>();
}

}  // namespace cohort
