#include "cohort/train/grpo/step_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // null in metrics.jsonl

/// Mean and Bessel-corrected deviation; 0 where there are too few values.
struct MeanAndDeviation {
  explicit MeanAndDeviation(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    if (values.empty()) return;
    for (const double value : values) mean += value / count;
    if (values.size() < 2) return;
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    deviation = std::sqrt(squares / (count - 1));
  }
  double mean = 0.0;
  double deviation = 0.0;
};

void append_lengths(Metrics& metrics, const std::string& suffix, const std::vector<double>& lengths) {
  const auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
  metrics.emplace_back("completions/mean_" + suffix, MeanAndDeviation(lengths).mean);
  metrics.emplace_back("completions/min_" + suffix, lengths.empty() ? 0.0 : *low);
  metrics.emplace_back("completions/max_" + suffix, lengths.empty() ? 0.0 : *high);
}

/// Values that are not finite, which JSON lacks, become null.
Json finite_values(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  return list;
}

double mean_of(double sum, int64_t count, double of_none = 0.0) {
  return count > 0 ? sum / static_cast<double>(count) : of_none;
}

}  // namespace

Json reward_cells(const std::vector<std::string>& names, const std::vector<RewardResult>& cells) {
  Json object = Json::object();
  for (size_t c = 0; c < cells.size(); ++c) {
    const RewardResult& cell = cells[c];
    Json entry{{"score", cell.score}, {"status", to_string(cell.status)}};
    if (cell.status != RewardStatus::kOk) entry["score"] = nullptr;
    if (!cell.detail.empty()) entry["detail"] = cell.detail;
    for (const StepReward& step : cell.steps)
      entry["steps"].push_back(Json{{"end", step.end}, {"score", step.score}});
    object[names[c]] = std::move(entry);
  }
  return object;
}

Metrics reward_metrics(const Batch& step, const RewardSummary& summary) {
  int64_t num_rewarded = 0;
  for_each_sample(step.groups, [&](const Sample& sample) { num_rewarded += sample.has_reward(); });
  Metrics metrics{{"reward", num_rewarded > 0 ? summary.mean : kNothing},
                  {"reward_std", num_rewarded > 1 ? summary.std : kNothing},
                  {"frac_reward_zero_std", summary.frac_zero_std}};
  for (size_t c = 0; c < step.reward_names.size(); ++c) {
    const std::string prefix = "rewards/" + step.reward_names[c] + "/";
    std::vector<double> scores;
    int64_t counts[6] = {};
    for_each_sample(step.groups, [&](const Sample& sample) {
      const RewardResult& cell = sample.rewards.at(c);
      if (cell.status == RewardStatus::kOk) scores.push_back(cell.score);
      ++counts[static_cast<int>(cell.status)];
    });
    const MeanAndDeviation spread(scores);
    metrics.emplace_back(prefix + "mean", scores.empty() ? kNothing : spread.mean);
    metrics.emplace_back(prefix + "std", scores.size() < 2 ? kNothing : spread.deviation);
    metrics.emplace_back(prefix + "weight", step.reward_weights.at(c));
    for (const auto status : {RewardStatus::kUnparsed, RewardStatus::kTimeout, RewardStatus::kError,
                              RewardStatus::kSandboxError, RewardStatus::kSkipped}) {
      metrics.emplace_back(prefix + to_string(status), counts[static_cast<int>(status)]);
    }
  }
  return metrics;
}

Metrics length_metrics(std::span<const Group> groups) {
  std::vector<double> lengths, terminated;
  for_each_sample(groups, [&](const Sample& sample) {
    lengths.push_back(static_cast<double>(sample.completion.num_sampled()));
    if (sample.completion.finish_reason == FinishReason::kStop) terminated.push_back(lengths.back());
  });
  Metrics metrics;
  append_lengths(metrics, "length", lengths);
  append_lengths(metrics, "terminated_length", terminated);
  metrics.emplace_back("completions/clipped_ratio",
                       mean_of(static_cast<double>(lengths.size() - terminated.size()), lengths.size()));
  return metrics;
}

namespace {

/// The share of turns whose state comes before another turn of their group, too; nan without states.
double shared_states(std::span<const Group> groups) {
  int64_t num_turns = 0, num_shared = 0;
  for (const Group& group : groups) {
    std::map<int64_t, int64_t> counts;
    for (const Sample& sample : group.samples) {
      if (!sample.completion.episode) continue;
      for (const int64_t state : sample.completion.episode->turn_states) ++counts[state];
    }
    for (const auto& [state, count] : counts) {
      num_turns += count;
      if (count > 1) num_shared += count;
    }
  }
  return mean_of(static_cast<double>(num_shared), num_turns, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

double mean_branches(std::span<const Group> groups) {
  return mean_of(static_cast<double>(num_sequences(groups)), num_samples(groups));
}

Metrics episode_metrics(std::span<const Group> groups) {
  int64_t num_episodes = 0, num_turns = 0, most_turns = 0, num_calls = 0, num_failed_calls = 0,
          num_failed = 0;
  for_each_sample(groups, [&](const Sample& sample) {
    if (!sample.completion.episode) return;
    const EpisodeRecord& episode = *sample.completion.episode;
    ++num_episodes;
    num_turns += episode.num_turns;
    most_turns = std::max(most_turns, episode.num_turns);
    num_calls += episode.num_calls;
    num_failed_calls += episode.num_failed_calls;
    num_failed += !episode.failure.empty();
  });
  return {{"episodes/mean_turns", mean_of(static_cast<double>(num_turns), num_episodes)},
          {"episodes/max_turns", static_cast<double>(most_turns)},
          {"episodes/failed", static_cast<double>(num_failed)},
          {"episodes/shared_states", shared_states(groups)},
          {"tools/call_frequency", mean_of(static_cast<double>(num_calls), num_episodes)},
          {"tools/failure_frequency", mean_of(static_cast<double>(num_failed_calls), num_calls)}};
}

std::string failed_episodes(std::span<const Group> groups) {
  int64_t num_failed = 0;
  std::string first;
  for_each_sample(groups, [&](const Sample& sample) {
    const std::optional<EpisodeRecord>& episode = sample.completion.episode;
    if (!episode || episode->failure.empty()) return;
    if (num_failed++ == 0) first = episode->failure;
  });
  if (num_failed == 0) return "";
  return str(num_failed, " of ", num_samples(groups),
             " episodes are masked because their environment failed: ", first);
}

Metrics loss_metrics(const LossResult& loss, const LossResult& first_loss, bool recompute) {
  std::map<std::string, double> objective = loss.objective.values();
  Metrics metrics{{"loss", objective["loss"]},
                  {"entropy", mean_of(loss.entropy_sum, loss.num_forwarded_tokens, kNothing)}};
  for (const char* said : {"loss", "entropy"}) objective.erase(said);
  metrics.insert(metrics.end(), objective.begin(), objective.end());
  if (loss.aux_loss) metrics.emplace_back("aux_loss", *loss.aux_loss);
  const auto rows = static_cast<double>(loss.rows.prompt + loss.rows.completion + loss.rows.repeated_prompt);
  append(metrics, {{"sampling/sampling_logp_difference/mean",
                    mean_of(first_loss.logprob_difference_sum, first_loss.num_forwarded_tokens, kNothing)},
                   {"sampling/sampling_logp_difference/max",
                    first_loss.num_forwarded_tokens > 0 ? first_loss.logprob_difference_max : kNothing},
                   {"rows/prompt", static_cast<double>(loss.rows.prompt)},
                   {"rows/completion", static_cast<double>(loss.rows.completion)},
                   {"rows/repeated_prompt", static_cast<double>(loss.rows.repeated_prompt)},
                   {"rows/recomputed", recompute ? rows : 0.0}});
  return metrics;
}

namespace {

/// Null for a number that is not there.
Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

/// What is injected, as [first, count] of each span; null for a completion that is sampled whole.
Json injected_spans(const Completion& completion) {
  Json spans;
  for (const TokenSpan& span : completion.spans) {
    if (span.origin == TokenOrigin::kInjected) spans.push_back({span.first, span.count});
  }
  return spans;
}

}  // namespace

void add_episode(const Completion& completion, Json& row) {
  if (Json spans = injected_spans(completion); !spans.is_null()) row["injected"] = std::move(spans);
  if (!completion.episode) return;
  const EpisodeRecord& episode = *completion.episode;
  row["messages"] = episode.messages;
  if (!episode.opening.empty()) row["opening"] = episode.opening;
  if (!episode.failure.empty()) row["environment_failure"] = episode.failure;
  for (const StepReward& turn : episode.turn_rewards) row["turn_rewards"].push_back({turn.end, turn.score});
}

namespace {

Json sample_row(const Batch& step, const Prompt& prompt, const Sample& sample, double advantage) {
  const Completion& completion = sample.completion;
  Json row{{"step", step.step},
           {"prompt_id", prompt.id},
           {"sample", completion.sample},
           {"prompt", prompt.text},
           {"completion", completion.text},
           {"finish_reason", to_string(completion.finish_reason)},
           {"reward", number(sample.reward)},
           {"rewards", reward_cells(step.reward_names, sample.rewards)},
           {"advantage", number(advantage)},
           {"policy_version", completion.policy_version()},
           {"prompt_ids", prompt_ids_of(prompt, sample)},
           {"completion_ids", completion.token_ids},
           {"logprobs", finite_values(completion.sampler_logprobs)}};
  if (!sample.token_advantages.empty()) row["token_advantages"] = finite_values(sample.token_advantages);
  add_episode(completion, row);
  if (const auto domain = prompt.fields.find("domain"); domain != prompt.fields.end())
    row["domain"] = *domain;
  if (sample.mask != LossMask::kNone) row["masked"] = true;
  if (sample.is_demonstration) row["demonstration"] = true;
  return row;
}

Json reroll_row(const Batch& step, const RerolledCall& call) {
  const Sample& sample = step.groups[call.group].samples[call.sample];
  return {{"sample", sample.completion.sample}, {"frozen", call.num_frozen}, {"recovery", call.recovery}};
}

Json fork_row(const Group& group, const ForkPlace& fork) {
  return {{"of", group.samples[fork.of].completion.sample}, {"num_tokens", fork.num_tokens}};
}

/// A row for a sample and one for each of its branches.
void add_rows(const Batch& step, const Group& group, bool is_trained, std::vector<Json>& rows) {
  for (const Sample& sample : group.samples) {
    const size_t first = rows.size();
    for_each_sequence_of(sample, [&](const Sample& sequence) {
      rows.push_back(sample_row(step, group.prompt, sequence, is_trained ? sequence.advantage : kNothing));
      if (group.rerolls) rows.back()["reroll_of"] = reroll_row(step, *group.rerolls);
      if (sample.fork) rows.back()["fork"] = fork_row(group, *sample.fork);
      if (!sample.branches.empty()) rows.back()["branch"] = rows.size() - 1 - first;
    });
  }
}

}  // namespace

std::vector<Json> completion_rows(const Batch& step) {
  std::vector<Json> rows;
  for (const Group& group : step.groups) add_rows(step, group, /*is_trained=*/true, rows);
  for (const UntrainedGroup& untrained : step.untrained) {
    const size_t first = rows.size();
    add_rows(step, untrained.group, /*is_trained=*/false, rows);
    for (size_t i = first; i < rows.size(); ++i) rows[i]["untrained"] = to_string(untrained.reason);
  }
  return rows;
}

std::vector<Json> nonfinite_rows(const std::vector<Completion>& completions) {
  std::vector<Json> rows;
  rows.reserve(completions.size());
  for (const Completion& completion : completions)
    rows.push_back({{"completion", completion.text}, {"completion_ids", completion.token_ids}});
  return rows;
}

std::string summary(const Metrics& metrics) {
  std::string text;
  const auto add = [&](const std::string& label, double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof(buffer), "%s%s %.3g", text.empty() ? "" : "  ", label.c_str(), value);
    text += buffer;
  };
  add("reward", find_metric(metrics, "reward"));
  for (const auto& [key, value] : metrics) {
    const bool is_mean = key.starts_with("rewards/") && key.ends_with("/mean");
    if (is_mean) add(key.substr(8, key.size() - 8 - 5), value);
  }
  add("length", find_metric(metrics, "completions/mean_length"));
  return text;
}

}  // namespace cohort
