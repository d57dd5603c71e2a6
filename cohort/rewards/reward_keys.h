// The own keys of several types of rewards together: a `[[reward]]` table takes those of all, flat, since its
// type is not known before it is read.
#pragma once

#include <string>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// The names of the type's own keys, with blanks between them.
std::string key_names(const RewardType& type);

/// The own keys of `types`, each once, in their order. Values point to the defaults, within `types`; meanings
/// name the types.
std::vector<Field> all_keys(const RewardTypes& types);

/// Throws ConfigError for a value of `config.keys` that is not its default and whose key is none of `heeded`,
/// which has blanks between them. Defaults are those of `known`; a key that is not there is empty by default.
void check_keys(const RewardConfig& config, const std::string& heeded, const std::vector<Field>& known);

}  // namespace cohort
