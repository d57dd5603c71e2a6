// Every reward that a recipe may name: those of cohort/rewards and the models on Cohort's own engine.
#pragma once

#include <ctime>
#include <filesystem>

#include "cohort/rewards/reward.h"

namespace cohort {

/// What rewards may know of the policy whose completions they judge.
struct JudgedPolicy {
  std::filesystem::path model_dir{};  ///< whose tokenizer the ids are of; empty where only text is judged
  std::tm now{};                      ///< what chat templates are told is the time
};

/// The types of rewards.def and reward_models.def.
RewardTypes all_rewards(const JudgedPolicy& policy);

/// Declares the keys of a `[[reward]]` table: those that every reward has, and the own keys of all types.
void describe(FieldVisitor& f, RewardConfig& config);

}  // namespace cohort
