// The settings of one reward: a `[[reward]]` table of a recipe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// Keys that are unset take their type's default, which docs/rewards.md states. A key that the type does not
/// heed is an error.
struct RewardConfig {
  std::string name{};  ///< the metric's name, and the type where `type` is empty
  std::string type{};  ///< the name of a RewardType
  double weight = 1.0;
  std::map<std::string, double> weight_at{};  ///< step -> weight; reward_weight.h says what is between
  std::string checks{};                ///< the reward that this one, which never trains, is held against
  std::string required{};              ///< key `requires`: counts only where this reward is 1
  std::vector<std::string> domains{};  ///< applies to rows of these only; to all when empty
  std::optional<double> clip_min{};
  std::optional<double> clip_max{};
  std::vector<std::string>
      command{};  ///< one word is a shell's line, several are a program with its arguments
  std::string function{};
  std::optional<double> timeout_s{};
  std::vector<std::string> answer_places{};
  bool rounded_gold = false;
  std::vector<std::string> tags{};
  std::string column{};
  std::string operation{};
  std::string pattern{};
  std::string choices{};
  std::string schema{};
  std::string metric{};
  std::string schedule{};
  std::string correctness{};
  std::string language{};
  std::string compile{};
  std::optional<int64_t> memory_mb{};
  bool all_tests = false;
  std::optional<int64_t> workers{};
  std::optional<int64_t> batch_size{};
  std::vector<std::string> runtime{};
  std::vector<std::string> waive_layers{};
  std::string prelude{};
  std::optional<double> tolerance{};
  std::optional<int64_t> min_length{};
  std::optional<int64_t> max_length{};
  std::optional<int64_t> max_completion_length{};
  std::optional<int64_t> soft_punish_cache{};
  std::optional<int64_t> ngram_size{};
  std::optional<double> absolute_tolerance{};
  std::optional<double> relative_tolerance{};
  std::optional<double> max_penalty{};
  std::string url{};
  std::string api_key_env{};
  std::optional<int64_t> retries{};
  std::string model{};
  std::string rubric{};
  std::vector<std::string> criteria{};
  std::optional<int64_t> max_score{};
  std::optional<int64_t> votes{};
  std::optional<double> temperature{};
  std::optional<int64_t> requests_per_minute{};
  std::optional<int64_t> tokens_per_minute{};
  std::string cache_dir{};
  std::string path{};
  std::string dtype{};
  std::string label{};
  std::string step_separator{};
  std::string aggregation{};

  void describe(FieldVisitor& f);
};

}  // namespace cohort
