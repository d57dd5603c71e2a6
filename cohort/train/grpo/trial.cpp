#include "cohort/train/grpo/trial.h"

#include <algorithm>
#include <limits>
#include <set>

#include "cohort/core/error.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tasks/dataset_source.h"
#include "cohort/train/grpo/run_sampling.h"
#include "cohort/train/grpo/step_rollout.h"

namespace cohort {
namespace {

/// Evaluations draw at the last number, steps count from 1.
constexpr uint64_t kTrialStep = std::numeric_limits<uint64_t>::max() - 1;

/// Limits of the closer check of a reward that failed on all completions.
constexpr size_t kCallsAlone = 8, kRowsOfOtherKinds = 8;
constexpr int64_t kRowsLookedAt = 64, kRowsInAnyCase = 4;

/// Columns with the kinds of their values, and the domain: rows of one kind are judged alike.
std::string kind_of(const Prompt& prompt) {
  std::string kind;
  for (const auto& [name, value] : prompt.fields.items()) {
    const bool is_empty = value.is_string() && value.get_ref<const std::string&>().empty();
    kind += str(name, ":", is_empty ? "empty" : value.type_name(), ";");
  }
  return kind + to_json_text(prompt.fields.value("domain", Json()));
}

/// Rows from all over the data: first those of kinds that `groups` do not have, then a few in any case.
std::vector<Prompt> other_rows_of(const RunPlan& plan, const std::vector<Group>& groups) {
  std::set<std::string> seen;
  for (const Group& group : groups) seen.insert(kind_of(group.prompt));
  const auto num_sources = std::ssize(plan.data.reports());
  const int64_t per_source = std::max<int64_t>(1, kRowsLookedAt / num_sources);
  std::vector<Prompt> rows, alike;
  for (int64_t source = 0; source < num_sources; ++source) {
    const int64_t num_rows = plan.data.reports()[source].num_used;
    const int64_t count = std::min(per_source, num_rows);
    for (int64_t i = 0; i < count; ++i) {
      Prompt prompt = to_prompt(plan.data.row({source, i * num_rows / count}), plan.format);
      const bool is_new = rows.size() < kRowsOfOtherKinds && seen.insert(kind_of(prompt)).second;
      (is_new ? rows : alike).push_back(std::move(prompt));
    }
  }
  const int64_t num_alike = std::min(kRowsInAnyCase, std::ssize(alike));
  for (int64_t i = 0; i < num_alike; ++i) rows.push_back(std::move(alike[i * std::ssize(alike) / num_alike]));
  return rows;
}

/// Whether the reward failed wherever it applied, for a reason that asking again may clear up. An outage or a
/// late answer is none.
bool fails_always(const std::vector<Group>& groups, size_t reward, bool may_recover) {
  bool is_judged = false, has_failed = false;
  for_each_sample(groups, [&](const Sample& sample) {
    const RewardStatus status = sample.rewards.at(reward).status;
    is_judged |= status == RewardStatus::kOk;
    has_failed |= status == RewardStatus::kUnparsed ||
                  (!may_recover && (status == RewardStatus::kError || status == RewardStatus::kSandboxError));
  });
  return has_failed && !is_judged;
}

/// Results of calls for one completion each, up to the first that is judged.
std::vector<RewardResult> score_alone(const std::vector<Group>& groups, const std::vector<Prompt>& other_rows,
                                      size_t reward, RewardScorer& scorer) {
  std::vector<RewardResult> results;
  const auto is_judged = [&](const Prompt& prompt, const Completion& completion) {
    results.push_back(scorer.score_alone(reward, prompt, completion));
    return results.back().status == RewardStatus::kOk;
  };
  const size_t generations = groups.front().samples.size();
  for (size_t i = 0; i < groups.size() * generations && results.size() < kCallsAlone; ++i) {
    const Group& group = groups[i % groups.size()];
    if (is_judged(group.prompt, group.samples[i / groups.size()].completion)) return results;
  }
  for (const Prompt& prompt : other_rows) {
    if (is_judged(prompt, groups.front().samples.front().completion)) break;
  }
  return results;
}

}  // namespace

TrialSize trial_size(const RolloutConfig& rollout) {
  constexpr int64_t kMostCompletions = 32, kMostGenerations = 8, kMostTokens = 16384;
  const int64_t generations = std::min(rollout.num_generations, kMostGenerations);
  const int64_t length = std::min(rollout.max_completion_length, kMostTokens / generations);
  const int64_t prompts = std::min(kMostTokens / (generations * length), kMostCompletions / generations);
  return {std::clamp(prompts, int64_t{1}, rollout.prompts_per_step), generations, length};
}

Trial draw_trial(const RunPlan& plan, const Decoder& policy, RewardScorer& scorer) {
  const TrainConfig& config = plan.config;
  const auto seed = static_cast<uint64_t>(config.seed);
  const TrialSize size = trial_size(config.rollout);
  SamplingParams params = run_sampling(config, plan.model, &plan.tokenizer);
  params.max_completion_length = size.max_completion_length;
  DatasetSource source(plan.data, plan.format, seed, config.data.shuffle_dataset);
  const std::vector<Prompt> prompts = source.next(size.num_prompts);
  Sampler sampler(policy, &plan.tokenizer, config.rollout.cache_tokens);
  Trial trial;
  trial.is_shortened = size.max_completion_length < config.rollout.max_completion_length;
  const std::vector<int64_t> sizes(prompts.size(), size.num_generations);
  trial.groups = sampler.rollout(
      prompts, sizes, params, {seed, kTrialStep, 0}, 0,
      [&](int64_t prompt, int64_t sample, const Completion& completion) {
        scorer.submit(prompt, sample, prompts[prompt], completion);
      },
      /*record=*/nullptr, plan.turns);
  scorer.close(0, size.num_prompts);
  for (int64_t g = 0; g < size.num_prompts; ++g) take_rewards(scorer, g, trial.groups[g]);
  std::optional<std::vector<Prompt>> other_rows;
  for (size_t reward = 0; reward < scorer.names().size(); ++reward) {
    trial.may_recover.push_back(scorer.reward(static_cast<int64_t>(reward)).may_recover());
    trial.alone.emplace_back();
    if (!fails_always(trial.groups, reward, trial.may_recover.back() != 0)) continue;
    if (!other_rows) other_rows = other_rows_of(plan, trial.groups);
    trial.alone.back() = score_alone(trial.groups, *other_rows, reward, scorer);
  }
  scorer.restart();
  return trial;
}

}  // namespace cohort
