// What a setting of a recipe means, from its declaration.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

struct SettingHelp {
  std::string key;                  ///< dotted: "objective.beta"; "reward.weight" of a `[[reward]]` table
  std::vector<std::string> places;  ///< the commands whose setting it is: "cohort train"
  std::string text;                 ///< as --help has it: type, range, default and meaning
  std::string meaning;
  std::string default_value;         ///< in TOML's notation; empty if it is unset
  std::string limits;                ///< empty if there are none
  std::vector<std::string> choices;  ///< empty unless it is one of several names
};

/// The settings that `name` can mean: a dotted key, also with an index ("reward.0.weight"), dashes for
/// underscores or the dashes of a flag before it, or the last part of keys. A key that several commands
/// declare alike is found once.
std::vector<SettingHelp> find_setting_help(const std::string& name);

/// All keys, as SettingHelp has them.
std::vector<std::string> setting_keys();

Json to_json(const SettingHelp& setting);

}  // namespace cohort
