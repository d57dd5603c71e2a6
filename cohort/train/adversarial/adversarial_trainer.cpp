#include "cohort/train/adversarial/adversarial_trainer.h"

#include "cohort/core/error.h"
#include "cohort/train/run/metrics.h"

namespace cohort {
namespace {

void add_named(const std::string& policy, const Metrics& metrics, Metrics& both) {
  for (const auto& [name, value] : metrics) both.emplace_back(str(policy, "/", name), value);
}

void add_rows(const std::string& policy, std::vector<Json> rows, std::vector<Json>& both) {
  for (Json& row : rows) {
    row["policy"] = policy;
    both.push_back(std::move(row));
  }
}

}  // namespace

void add_report(const std::string& policy, StepReport report, StepReport& both) {
  add_named(policy, report.metrics, both.metrics);
  add_named(policy, report.timings, both.timings);
  add_rows(policy, std::move(report.completions), both.completions);
  add_rows(policy, std::move(report.nonfinite), both.nonfinite);
  both.is_finite &= report.is_finite;
  both.summary += str(both.summary.empty() ? "" : "  ", policy, ": ", report.summary);
  for (const std::string& warning : report.warnings) both.warnings.push_back(str(policy, ": ", warning));
  if (!report.stop_reason.empty())
    both.stop_reason += str(both.stop_reason.empty() ? "" : "; ", policy, ": ", report.stop_reason);
}

void check_defender_prompt(const Prompt& prompt, int64_t max_prompt_length) {
  const auto length = std::ssize(prompt.token_ids);
  if (length <= max_prompt_length) return;
  throw ConfigError(str(prompt.id, ": the defender's prompt has ", length,
                        " tokens and defender.max_prompt_length is ", max_prompt_length,
                        ": raise it, or lower attacker.rollout.max_completion_length"));
}

AdversarialTrainer::AdversarialTrainer(const AdversarialConfig& config, PolicySide& attacker,
                                       PolicySide& defender, AttackPrompts& prompts, TextFormat format,
                                       const Tokenizer& tokenizer, PlayAttacks& play)
    : config_(config),
      attacker_(attacker),
      defender_(defender),
      prompts_(prompts),
      format_(std::move(format)),
      tokenizer_(tokenizer) {
  play = [this](std::span<const RewardRow> attacks) { return this->play(attacks); };
}

StepReport AdversarialTrainer::step(int64_t index) {
  step_ = index;
  defence_.reset();
  attacker_.trainer->set_frozen(!config_.trains(PolicyRole::kAttacker, index));
  defender_.trainer->set_frozen(!config_.trains(PolicyRole::kDefender, index));
  Metrics timings;
  StepTimer timer(timings);
  StepReport attack = attacker_.trainer->step(index);
  COHORT_CHECK(defence_.has_value(), "the attacks of step ", index, " were not played");
  timer.finish(total_tokens(*attack.batch) + total_tokens(*defence_->batch));
  StepReport both;
  both.timings = std::move(timings);
  add_report(to_string(PolicyRole::kAttacker), std::move(attack), both);
  add_report(to_string(PolicyRole::kDefender), std::move(*defence_), both);
  return both;
}

std::vector<RewardResult> AdversarialTrainer::play(std::span<const RewardRow> attacks) {
  std::vector<Prompt> prompts;
  prompts.reserve(attacks.size());
  for (const RewardRow& attack : attacks) {
    prompts.push_back(defender_prompt(attack.prompt, harmless(attack.completion, tokenizer_), format_));
    check_defender_prompt(prompts.back(), config_.defender.max_prompt_length);
  }
  prompts_.give(std::move(prompts));
  defence_ = defender_.trainer->step(step_);
  std::vector<RewardResult> rewards;
  rewards.reserve(attacks.size());
  for (const Group& games : defence_->batch->groups) rewards.push_back(attack_reward(games));
  return rewards;
}

Json AdversarialTrainer::save() const {
  return {{"attacker", attacker_.trainer->save()}, {"defender", defender_.trainer->save()}};
}

void AdversarialTrainer::load(const Json& state) {
  attacker_.trainer->load(state.at("attacker"));
  defender_.trainer->load(state.at("defender"));
}

std::vector<TrainedModel> AdversarialTrainer::models() {
  return {{to_string(PolicyRole::kAttacker), attacker_.policy.get(), &attacker_.optimizer},
          {to_string(PolicyRole::kDefender), defender_.policy.get(), &defender_.optimizer}};
}

}  // namespace cohort
