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
#include "cohort/train/run/memory_plan.h"
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
  data.for_each_row([&](const Row& row) {
    batch.push_back(to_preference_example(row, format));
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

SftFormat pair_format(const DpoConfig& config, const Tokenizer& tokenizer, const DecoderConfig& model,
                      const std::tm& start) {
  SftFormat format = sft_format(tokenizer, config.model.path, model, start, text_settings(config));
  format.max_length = config.data.max_length;
  return format;
}

HeldOutPairs held_out_pairs(const DpoConfig& config, const SftFormat& format, const DecoderConfig& model) {
  HeldOutPairs held_out;
  if (config.train.eval_steps == 0) return held_out;
  const Dataset rows = open_preferences(config.data, DataPart::kEvaluation, format, model);
  rows.for_each_row([&](const Row& row) { held_out.examples.push_back(to_preference_example(row, format)); });
  held_out.longest = rows.longest_total();
  return held_out;
}

}  // namespace

DpoRun::DpoRun(const DpoConfig& config, const ResumeOptions& options)
    : config_(checked(config, options)),
      start_(run_start(config_.run, options)),
      policy_(load_trained_model(config_)),
      tokenizer_(require_tokenizer(config_.model.path, policy_->config())),
      format_(pair_format(config_, *tokenizer_, policy_->config(), start_)),
      data_(open_preferences(config_.data, DataPart::kTrain, format_, policy_->config())),
      held_out_(held_out_pairs(config_, format_, policy_->config())),
      rows_(data_, config_.seed, config_.data.shuffle_dataset, options.accepts("data")),
      optimizer_(policy_->parameters(), config_.optimizer) {
  warn_unused_variables(format_.text);
  const int64_t longest_sequence = std::max(data_.longest_total(), held_out_.longest);
  policy_->plan_length(longest_sequence);
  if (has_own_reference(config_)) {
    reference_ = load_model(config_.model, config_.lora, config_.seed);
    reference_->plan_length(longest_sequence);
  }
  const int64_t steps = num_steps(config_.train.max_steps, config_.train.num_train_epochs, data_.num_rows(),
                                  config_.train.pairs_per_step);
  directory_.emplace(open_run(config_, options, start_));
  report_memory(plan_memory(*policy_, pair_step_shape(config_, longest_sequence)), &*directory_);
  trainer_.emplace(config_, steps, *policy_, reference_sums(), format_, rows_, optimizer_);
  std::function<EvalRecord()> evaluate;
  if (config_.train.eval_steps > 0) evaluate = [this] { return trainer_->evaluate(held_out_.examples); };
  open_loop(config_, options, steps, optimizer_, std::move(evaluate));
}

ReferenceSums DpoRun::reference_sums() const {
  if (config_.train.precompute_ref_log_probs)
    return precomputed_reference(*policy_, config_, data_, format_, held_out_.examples);
  if (config_.objective.reference_free) return {};
  return forwarded_reference(reference_ != nullptr ? *reference_ : *policy_, config_);
}

Metrics DpoRun::evaluate_on(const std::vector<std::string>& files) {
  if (config_.train.precompute_ref_log_probs) {
    throw ConfigError(
        "train.precompute_ref_log_probs computed the reference for the run's own rows alone: set it to false "
        "to "
        "evaluate others");
  }
  PreferenceDataConfig data = config_.data;
  data.eval_path = files;
  data.test_split_size = 0.0;
  const Dataset rows = open_preferences(data, DataPart::kEvaluation, format_, policy_->config());
  std::vector<PreferenceExample> examples;
  rows.for_each_row([&](const Row& row) { examples.push_back(to_preference_example(row, format_)); });
  return trainer_->evaluate(examples).metrics;
}

int run_dpo(const DpoConfig& config, const ResumeOptions& options) { return DpoRun(config, options).run(); }

}  // namespace cohort
