// What a rule reads of a run, or of one policy of a run of two.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/explain/curve.h"
#include "cohort/explain/run_finding.h"

namespace cohort {

/// What a run trains, told by the sections of its recipe.
enum class RunKind : uint8_t { kPolicy, kSupervised, kPreference, kRewardModel };

/// The settings, figures and completions that a rule reads.
class RuleInput {
 public:
  /// `side`: "attacker" or "defender" of a run of two policies, whose metrics and settings begin with it;
  /// else empty.
  RuleInput(const RunEvidence& evidence, std::string side);

  /// The sides of a run; one empty text for a run of one policy.
  static std::vector<std::string> sides_of(const Json& recipe);

  RunKind kind() const { return kind_; }
  bool is_policy() const { return kind_ == RunKind::kPolicy; }
  bool is_game() const { return !side_.empty(); }

  /// Empty for a metric without a number.
  Curve curve(std::string_view metric) const;

  /// The metric's name in the run's files.
  std::string metric(std::string_view name) const;

  /// `{name}` of each metric `begin{name}end` of the run, sorted.
  std::vector<std::string> names_between(std::string_view begin, std::string_view end) const;

  /// Names of the rewards that metrics are there of.
  std::vector<std::string> rewards() const { return names_between("rewards/", "/mean"); }

  /// A setting by its dotted key; null if the recipe has none.
  Json setting(std::string_view key) const;
  double number(std::string_view key, double otherwise) const;
  bool flag(std::string_view key) const;
  std::string text(std::string_view key) const;

  /// For advice: a key with its present value, "objective.beta (now 0)", or with the one to give it,
  /// "objective.beta = 0".
  std::string named(std::string_view key) const;
  std::string named(std::string_view key, std::string_view value) const;

  /// The `[[reward]]` of a name; null for none.
  Json reward(const std::string& name) const;

  /// Weight of a reward: the last one of `weight_at` if it is given.
  double weight(const std::string& name) const;

  /// Completions that a step trains on.
  double completions_per_step() const;

  /// Whether advantages come from differences within groups, so that equal rewards teach nothing.
  bool compares_groups() const;

  /// Where the mean of the last rewards lies between the lowest and the highest reward of the run: 0 to 1.
  double reward_position(double reward) const;

  /// The reward of each step before any selection of completions.
  Curve drawn_reward() const;
  const char* drawn_reward_name() const;

  std::span<const CompletionEntry> entries() const { return evidence_.completions.entries(); }

  /// The line of a completion.
  Json completion(const CompletionEntry& entry) const;

  /// The newest `count` completions with `is_chosen`, newest first, of this side.
  std::vector<Json> newest_completions(size_t count,
                                       const std::function<bool(const CompletionEntry&)>& is_chosen) const;

 private:
  /// With the side that has it.
  std::string key_of(std::string_view key) const;

  const RunEvidence& evidence_;
  std::string side_;
  RunKind kind_ = RunKind::kPolicy;
};

/// Places of completions, for a finding.
std::vector<SampleEvidence> samples_of(const std::vector<Json>& completions);

/// The mean of a window as evidence.
MetricEvidence evidence_of(std::string metric, const CurveWindow& window);

/// "0.031", with three digits; whole numbers with all.
std::string figure(double value);

/// "42 %".
std::string percent(double share);

/// "steps 4 to 12", or "step 4".
std::string steps_text(const CurveWindow& window);

}  // namespace cohort
