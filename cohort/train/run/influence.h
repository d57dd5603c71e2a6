// Which prompts a run's updates came from, and which of them go with a change of an evaluation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// What a prompt did to the policy.
struct PromptInfluence {
  std::string prompt_id;
  int64_t num_steps = 0;        ///< with completions of it
  int64_t num_completions = 0;  ///< that were scored
  double mean_reward = 0.0;
  /// Of the run's updates: of each step, its part of the sum of absolute advantages; steps count by their
  /// learning rate. All prompts add up to 1.
  double share = 0.0;
  /// How the evaluation's change over an interval goes with the prompt's part in it: the correlation times
  /// the root of the number of intervals less one. Nothing with fewer than four, or for a prompt in one
  /// alone.
  std::optional<double> score;
  /// Whether any prompt has such a score in one of 20 orders of the changes at most (a permutation test of
  /// the largest score, Westfall and Young).
  bool is_telling = false;
};

/// Largest share first. `metric`: an evaluation's in metrics.jsonl; empty: none. Memory: some hundred bytes
/// for each prompt. Throws FormatError for a run without completions.jsonl, metrics.jsonl or the metric.
std::vector<PromptInfluence> prompt_influences(const std::filesystem::path& run, const std::string& metric);

}  // namespace cohort
