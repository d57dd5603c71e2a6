// cohort dpo as a whole.
#include "cohort/train/preference/dpo_run.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/train/preference/dpo_trainer.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_setup.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

/// The reference's log-probabilities of pairs that were seen before, found by a 64-bit hash of their tokens.
class PrecomputedSums {
 public:
  PrecomputedSums(WeightSnapshot reference, PreferenceOptions options)
      : reference_(std::move(reference)), options_(std::move(options)) {}

  void add(const std::vector<PreferenceExample>& batch) {
    const std::vector<double> sums = sequence_sums(reference_, batch, options_);
    for (size_t i = 0; i < batch.size(); ++i) sums_[key(batch[i])] = {sums[2 * i], sums[2 * i + 1]};
  }

  std::vector<double> of(const std::vector<PreferenceExample>& batch) const {
    std::vector<double> sums;
    sums.reserve(2 * batch.size());
    for (const PreferenceExample& example : batch) {
      const std::array<double, 2>& found = sums_.at(key(example));
      sums.insert(sums.end(), found.begin(), found.end());
    }
    return sums;
  }

 private:
  static uint64_t key(const PreferenceExample& example) {
    std::vector<int32_t> ids = example.prompt_ids;
    for (const Completion& completion : example.completions) {
      ids.push_back(-1);
      ids.insert(ids.end(), completion.token_ids.begin(), completion.token_ids.end());
    }
    return fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0])});
  }

  WeightSnapshot reference_;
  PreferenceOptions options_;
  std::unordered_map<uint64_t, std::array<double, 2>> sums_;
};

/// The weights of a reference that may be the policy itself: an adapter that the run began with is part of
/// it.
WeightSnapshot reference_of(const Decoder& decoder, const DpoConfig& config) {
  return {decoder, {.enabled = !config.lora.path.empty()}};
}

/// `policy` as it was loaded, before its first update.
ReferenceSums precomputed_reference(const Decoder& policy, const DpoConfig& config, const Dataset& data,
                                    const SftFormat& format, const std::vector<PreferenceExample>& held_out) {
  auto table = std::make_shared<PrecomputedSums>(reference_of(policy, config), preference_options(config));
  std::vector<PreferenceExample> batch;
  for_each_preference(data, format, [&](PreferenceExample example) {
    batch.push_back(std::move(example));
    if (std::ssize(batch) < config.train.pairs_per_step) return;
    table->add(batch);
    batch.clear();
  });
  if (!batch.empty()) table->add(batch);
  if (!held_out.empty()) table->add(held_out);
  log_info("log-probabilities of the reference are computed for ", data.num_rows() + std::ssize(held_out),
           " pairs");
  return [table](const std::vector<PreferenceExample>& pairs) { return table->of(pairs); };
}

ReferenceSums forwarded_reference(const Decoder& reference, const DpoConfig& config) {
  return [weights = reference_of(reference, config), options = preference_options(config)](
             const std::vector<PreferenceExample>& pairs) { return sequence_sums(weights, pairs, options); };
}

bool has_own_reference(const DpoConfig& config) {
  const bool is_policy = config.lora.r > 0 && config.lora.path.empty();
  return !config.objective.reference_free && !config.train.precompute_ref_log_probs && !is_policy;
}

StepShape pair_step_shape(const DpoConfig& config, int64_t longest_sequence) {
  // Of a pair both completions are forwarded at once.
  const int64_t longest = 2 * longest_sequence;
  return {.longest_sequence = longest,
          .rows = longest * config.train.pairs_per_step,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute,
          .has_reference = has_own_reference(config),
          .has_adapted_reference = !config.lora.path.empty()};
}

struct HeldOut {
  std::vector<PreferenceExample> examples;
  int64_t longest = 0;
};

HeldOut held_out_pairs(const DpoConfig& config, const SftFormat& format, const DecoderConfig& model) {
  HeldOut held_out;
  if (config.train.eval_steps == 0) return held_out;
  const Dataset rows = open_preferences(config.data, DataPart::kEvaluation, format, model);
  for_each_preference(rows, format,
                      [&](PreferenceExample example) { held_out.examples.push_back(std::move(example)); });
  held_out.longest = rows.longest_total();
  return held_out;
}

}  // namespace

int run_dpo(const DpoConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto policy = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, policy->config());
  const auto tokenizer = require_tokenizer(config.model.path, policy->config());
  const std::tm start = run_start(config.run, options);
  const SftFormat format =
      sft_format(*tokenizer, config.model.path, policy->config(), start, text_settings(config));
  const Dataset data = open_preferences(config.data, DataPart::kTrain, format, policy->config());
  warn_unused_variables(format.text);
  const HeldOut held_out = held_out_pairs(config, format, policy->config());
  const int64_t longest_sequence = std::max(data.longest_total(), held_out.longest);
  policy->plan_length(longest_sequence);
  const auto own_reference =
      has_own_reference(config) ? load_model(config.model, config.lora, config.seed) : nullptr;
  if (own_reference != nullptr) own_reference->plan_length(longest_sequence);
  RowCursor rows(data, config.seed, config.data.shuffle_dataset, options.accepts("data"));
  AdamW optimizer(policy->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs, data.num_rows(),
                                  config.train.pairs_per_step);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*policy, pair_step_shape(config, longest_sequence)));
  ReferenceSums reference;
  if (config.train.precompute_ref_log_probs) {
    reference = precomputed_reference(*policy, config, data, format, held_out.examples);
  } else if (!config.objective.reference_free) {
    reference = forwarded_reference(own_reference != nullptr ? *own_reference : *policy, config);
  }
  DpoTrainer trainer(config, steps, *policy, std::move(reference), format, rows, optimizer);
  const LoopConfig loop = loop_config(config, steps);
  std::function<EvalRecord()> evaluate;
  if (loop.eval_steps > 0) evaluate = [&] { return trainer.evaluate(held_out.examples); };
  RunLoop run_loop(run, loop, *policy, optimizer, trainer, config.model.path, std::move(evaluate));
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  return run_loop.run();
}

}  // namespace cohort
