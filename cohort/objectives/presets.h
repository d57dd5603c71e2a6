// Algorithms by name: each is a set of values for the settings of loss and advantages, no code of its own.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cohort/objectives/advantage_config.h"
#include "cohort/objectives/loss_config.h"

namespace cohort {

/// A line of presets.def.
struct Preset {
  const char* name;
  const char* paper;        ///< "arXiv:..."
  const char* evidence;     ///< "paper", or "reconstructed" where the formula is known second-hand
  const char* composition;  ///< in words
  const char* settings;     ///< "key=value ..." of ObjectiveSettings, what differs from the defaults
  const char* run;          ///< "section.key=value ..." of a recipe, where the method or its paper names them
};

/// Everything that a composition is made of. Keys that both have (beta, kl_place) hold one value.
struct ObjectiveSettings {
  LossConfig loss;
  AdvantageConfig advantages;
};

/// All presets, in the order of presets.def.
std::span<const Preset> presets();

/// Throws ConfigError naming the nearest preset when there is none of that name.
const Preset& find_preset(const std::string& name);

/// "a=1 b=2" as pairs of key and value, in order.
std::vector<std::pair<std::string, std::string>> settings_in(const std::string& text);

/// Whether some part of the objective has the key.
bool is_objective_key(const std::string& key);

/// Sets a key from its text, in every part that has it. Throws ConfigError for an unknown key (naming the
/// nearest), a wrong type or a value out of range.
void set_objective_key(ObjectiveSettings& settings, const std::string& key, const std::string& value);

/// The defaults with the preset's settings over them; keys that are set later override it.
ObjectiveSettings settings_of_preset(const std::string& name);

}  // namespace cohort
