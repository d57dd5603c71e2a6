#include "cohort/objectives/presets.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

constexpr auto kPresets = std::to_array<Preset>({
#define PRESET(name, paper, evidence, composition, settings, run) \
  {#name, paper, evidence, composition, settings, run},
#include "cohort/objectives/presets.def"
#undef PRESET
});

bool has_key(const Section& section, const std::string& key) {
  return std::ranges::any_of(section.fields, [&](const Field& field) { return field.name == key; });
}

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset& find_preset(const std::string& name) {
  const auto* found =
      std::ranges::find_if(kPresets, [&](const Preset& preset) { return preset.name == name; });
  if (found != kPresets.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  throw ConfigError(str("preset is \"", name, "\", which there is not: did you mean \"",
                        nearest_name(name, names), "\"? `cohort objectives` lists them"));
}

std::vector<std::pair<std::string, std::string>> settings_in(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    COHORT_CHECK(equals != std::string::npos, word);
    settings.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return settings;
}

bool is_objective_key(const std::string& key) {
  ObjectiveSettings settings;
  return has_key(settings_of(settings.loss), key) || has_key(settings_of(settings.advantages), key);
}

void set_objective_key(ObjectiveSettings& settings, const std::string& key, const std::string& value) {
  bool is_known = false;
  std::vector<std::string> keys;
  for (const Section& section : {settings_of(settings.loss), settings_of(settings.advantages)}) {
    for (const Field& field : section.fields) keys.push_back(field.name);
    if (!has_key(section, key)) continue;
    apply_flags(section, {str("--", key, "=", value)});
    is_known = true;
  }
  settings.advantages.beta = settings.loss.beta;
  settings.advantages.kl_place = settings.loss.kl_place;
  if (is_known) return;
  throw ConfigError(str(key, " is no setting of the objective: did you mean ", nearest_name(key, keys), "?"));
}

ObjectiveSettings settings_of_preset(const std::string& name) {
  ObjectiveSettings settings;
  for (const auto& [key, value] : settings_in(find_preset(name).settings))
    set_objective_key(settings, key, value);
  return settings;
}

}  // namespace cohort
