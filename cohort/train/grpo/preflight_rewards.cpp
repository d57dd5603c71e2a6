// Findings about rewards that fail in a trial.
#include <algorithm>

#include "cohort/explain/thresholds.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/grpo/preflight.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

/// A reward's cells in a trial, counted by status.
struct Cells {
  int64_t num_ok = 0, num_failed = 0, num_late = 0, num_unparsed = 0;
  RewardResult failure{};  ///< the first that was not late, or else the first

  void add(const RewardResult& result) {
    const bool is_late = result.status == RewardStatus::kTimeout;
    const bool is_failed = result.status != RewardStatus::kOk && result.status != RewardStatus::kSkipped;
    if (is_failed && (num_failed == 0 || (num_failed == num_late && !is_late))) failure = result;
    num_ok += result.status == RewardStatus::kOk;
    num_unparsed += result.status == RewardStatus::kUnparsed;
    num_failed += is_failed;
    num_late += is_late;
  }
};

Cells cells_of(const Trial& trial, size_t reward) {
  Cells cells;
  for_each_sample(trial.groups, [&](const Sample& sample) { cells.add(sample.rewards.at(reward)); });
  return cells;
}

std::string key(size_t reward, const char* name) { return str("reward.", reward, ".", name); }

/// The columns of the trial's rows, for messages.
std::string columns_of(const Trial& trial) {
  std::string names;
  for (const auto& [name, value] : trial.groups.front().prompt.fields.items()) {
    if (name != "prompt_messages") names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "no column beside the prompt" : "the columns " + names;
}

/// Advice about a reward that fails.
std::string advice(const TrainConfig& config, const Trial& trial, size_t reward, RewardStatus status) {
  const RewardConfig& settings = config.reward[reward];
  if (status == RewardStatus::kTimeout) return "raise " + key(reward, "timeout_s");
  const auto function = value_in<std::string>(settings.keys, "function");
  if (!function.empty()) return str("mend ", key(reward, "function"), " = \"", function, "\"");
  if (!value_in<std::string>(settings.keys, "url").empty() && status != RewardStatus::kUnparsed)
    return str("start the server, or correct ", key(reward, "url"));
  if (status == RewardStatus::kUnparsed) {
    return str("the rows have ", columns_of(trial),
               ": give them what the reward reads, or name their column in "
               "data.columns");
  }
  const auto command = value_in<std::vector<std::string>>(settings.keys, "command");
  if (!command.empty()) {
    std::string words;
    for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
    return str("mend ", key(reward, "command"), ": ", excerpt(words));
  }
  return status == RewardStatus::kSandboxError ? "see docs/sandbox.md" : str("mend reward.", reward);
}

/// One line of a failure, without its end.
std::string detail_of(const RewardResult& failure) {
  std::string line = failure.detail.substr(0, failure.detail.find('\n'));
  while (!line.empty() && line.back() == '.') line.pop_back();
  return line.empty() ? to_string(failure.status) : line;
}

/// Whether the reward that this one requires failed, so that both fail for the same reason.
bool fails_by_another(const TrainConfig& config, const Trial& trial, size_t reward) {
  for (size_t other = 0; other < config.reward.size(); ++other) {
    if (config.reward[other].name != config.reward[reward].required) continue;
    return cells_of(trial, other).num_failed >= cells_of(trial, reward).num_failed;
  }
  return false;
}

/// Of a reward that fails on some completions.
std::optional<Finding> share_of_failures(const TrainConfig& config, const Trial& trial, size_t reward) {
  const Cells cells = cells_of(trial, reward);
  const int64_t num_all = cells.num_ok + cells.num_failed;
  const double share = static_cast<double>(cells.num_failed) / static_cast<double>(num_all);
  if (share < thresholds::kFewFailures) return std::nullopt;
  const bool stops = share > config.train.max_failed_share;
  return Finding{Severity::kWarning,
                 str("reward ", config.reward[reward].name, " failed on ", cells.num_failed, " of ", num_all,
                     " trial completions: ", detail_of(cells.failure), "; ",
                     advice(config, trial, reward, cells.failure.status),
                     stops ? str(". The run stops if so many fail: train.max_failed_share = ",
                                 config.train.max_failed_share)
                           : "")};
}

std::optional<Finding> failure_of(const TrainConfig& config, const Trial& trial, size_t reward) {
  const Cells cells = cells_of(trial, reward);
  if (cells.num_failed == 0 || fails_by_another(config, trial, reward)) return std::nullopt;
  if (cells.num_ok > 0) return share_of_failures(config, trial, reward);
  const std::string& name = config.reward[reward].name;
  const std::string what =
      str(detail_of(cells.failure), "; ", advice(config, trial, reward, cells.failure.status));
  const std::string all =
      str("reward ", name, " failed on all ", cells.num_failed, " trial completions: ", what);
  const bool is_outage = trial.may_recover[reward] != 0 && cells.num_unparsed < cells.num_failed;
  if (cells.num_failed == cells.num_late || is_outage)
    return Finding{Severity::kWarning, all + ". The run stops if its first steps fail alike"};
  if (std::ranges::any_of(trial.alone[reward],
                          [](const RewardResult& result) { return result.status == RewardStatus::kOk; })) {
    return Finding{
        Severity::kWarning,
        str("reward ", name, " failed on all trial completions, and not on each alone or on other rows: ",
            "what one completion or row lacks may cost its whole call; the first failure: ", what)};
  }
  return Finding{ever_counts(config.reward[reward]) ? Severity::kError : Severity::kWarning, all};
}

/// Whether no reward with a weight applied to any completion.
bool is_all_skipped(const TrainConfig& config, const Trial& trial) {
  for (size_t reward = 0; reward < config.reward.size(); ++reward) {
    const Cells cells = cells_of(trial, reward);
    if (ever_counts(config.reward[reward]) && cells.num_ok + cells.num_failed > 0) return false;
  }
  return true;
}

}  // namespace

std::vector<Finding> reward_findings(const TrainConfig& config, const Trial& trial) {
  std::vector<Finding> findings;
  for (size_t reward = 0; reward < config.reward.size(); ++reward) {
    if (auto finding = failure_of(config, trial, reward)) findings.push_back(*std::move(finding));
  }
  if (is_all_skipped(config, trial)) {
    findings.push_back(
        {Severity::kWarning,
         "every reward skipped every trial completion, and rows that none judges teach nothing: check "
         "`domains` of the [[reward]] tables, and functions that return None"});
  }
  return findings;
}

}  // namespace cohort
