#include "cohort/train/grpo/step_shape.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cohort/sampler/prompt_batches.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tasks/dataset_source.h"

namespace cohort {
namespace {

/// Lengths of prompts, in tokens.
using Lengths = std::set<int64_t>;

Lengths prompt_lengths(const Dataset& data) {
  Lengths lengths;
  for (const auto& [length, row] : data.prompt_lengths()) lengths.insert(length);
  return lengths;
}

/// Of the prompts that a step could draw, the one whose group is largest, `count` times.
struct LargestStep {
  LargestStep(const Lengths& prompt_lengths, int64_t count, int64_t num_generations,
              const TrainConfig& config, const Decoder& policy) {
    int64_t prompt_length = 0, completion_length = 0;
    for (const int64_t length : prompt_lengths) {
      const int64_t longest =
          std::min(config.rollout.max_completion_length, policy.config().context_length - length);
      longest_sequence = std::max(longest_sequence, length + longest);
      if (const int64_t group = length + num_generations * longest; count * group > rows) {
        rows = count * group;
        prompt_length = length;
        completion_length = longest;
      }
    }
    const std::vector<int64_t> step_lengths(count, prompt_length);
    if (config.rollout.ignore_eos && config.rollout.stop_token_ids.empty() && prompt_lengths.size() == 1)
      equal_groups = {count, prompt_length, completion_length - 1, num_generations};
    num_sequences = count * num_generations;
    cache_pages = config.rollout.cache_tokens > 0
                      ? config.rollout.cache_tokens / kPageRows
                      : default_cache_pages(policy.config(), policy.compute_dtype(), step_lengths,
                                            std::vector<int64_t>(count, num_generations), completion_length);
  }

  int64_t longest_sequence = 0;
  int64_t rows = 0;
  std::optional<EqualGroups> equal_groups;
  int64_t num_sequences = 0;
  int64_t cache_pages = 0;
};

}  // namespace

int64_t generations_eval(const TrainConfig& config) {
  return config.train.num_generations_eval.value_or(config.rollout.num_generations);
}

StepShape step_shape(const TrainConfig& config, const Decoder& policy, const Dataset& data,
                     bool has_episodes) {
  const RolloutConfig& rollout = config.rollout;
  const Lengths lengths = prompt_lengths(data);
  const int64_t num_prompts = rollout.prompts_per_step / config.train.steps_per_generation;
  // The episodes of two steps are drawn together.
  const int64_t num_drawn = rollout.prompts_per_step + (has_episodes ? rollout.prompts_ahead : 0);
  const LargestStep drawn(lengths, num_drawn, rollout.num_generations, config, policy);
  const LargestStep trained(lengths, num_prompts, rollout.num_trained(), config, policy);
  const LargestStep rerolled(lengths, rollout.most_reroll_groups(), rollout.num_rerolls, config, policy);
  const bool has_demonstrations = config.objective.control.use_demonstrations;
  const int64_t longest_demonstration = has_demonstrations ? data.longest_total() : 0;
  // One update, by the weights that sampled.
  const bool is_recorded = config.train.steps_per_generation == 1 && config.objective.num_iterations == 1 &&
                           !has_demonstrations && !config.train.recompute && !rollout.has_trees();
  RecordPlan record = is_recorded ? plan_record(policy, drawn.rows, rollout.most_rollouts()) : RecordPlan();
  // Of groups of several sizes the largest may be those of the longest completions.
  // Nothing is recorded of what is drawn ahead.
  record.covers_step &= !rollout.is_budgeted() && !rollout.is_stale();
  return {.longest_sequence = std::max(drawn.longest_sequence, longest_demonstration),
          .rows = trained.rows + num_prompts * longest_demonstration + rerolled.rows,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .largest_group = trained.rows / num_prompts + longest_demonstration,
          .equal_groups =
              rollout.selects() || rollout.num_rerolls > 0 || rollout.has_trees() || has_demonstrations
                  ? std::nullopt
                  : trained.equal_groups,
          .cache_pages = drawn.cache_pages,
          .num_sequences = drawn.num_sequences,
          .record = record,
          .recompute = config.train.recompute,
          .has_reference = needs_reference(resolved(config.objective, rollout.max_completion_length)),
          .has_adapted_reference = !config.lora.path.empty()};
}

void add_evaluation(const TrainConfig& config, const Decoder& policy, const std::vector<Prompt>& prompts,
                    StepShape& shape) {
  const int64_t num_generations = generations_eval(config);
  const auto batch = static_cast<int64_t>(prompt_batches(prompts, num_generations).front().prompts.size());
  Lengths lengths;
  for (const Prompt& prompt : prompts) lengths.insert(static_cast<int64_t>(prompt.token_ids.size()));
  const LargestStep evaluation(lengths, batch, num_generations, config, policy);
  shape.cache_pages = std::max(shape.cache_pages, evaluation.cache_pages);
  shape.num_sequences = std::max(shape.num_sequences, evaluation.num_sequences);
}

void check_cache(const TrainConfig& config, const Dataset& data, const TextFormat& format,
                 const DecoderConfig& model) {
  if (config.rollout.cache_tokens == 0) return;
  for (const auto& [length, row] : data.prompt_lengths()) {
    check_cache_tokens(config.rollout.cache_tokens, "rollout.cache_tokens",
                       {to_prompt(data.row(row), format)}, model, config.rollout.max_completion_length);
  }
}

}  // namespace cohort
