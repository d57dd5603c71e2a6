#include "cohort/objectives/preset_text.h"

#include <sstream>

#include "cohort/core/error.h"
#include "cohort/objectives/objective_advice.h"

namespace cohort {
namespace {

constexpr size_t kTextWidth = 100;

/// `text` in lines of at most kTextWidth, each behind `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string result, line = indent;
  for (std::string word; words >> word;) {
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kTextWidth) {
      result += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
  }
  return result + line + "\n";
}

std::string preset_heading(const Preset& preset) {
  const bool is_reconstructed = std::string(preset.evidence) == "reconstructed";
  return str(preset.name, "  (", preset.paper, is_reconstructed ? "; reconstructed" : "", ")\n");
}

std::string meaning_of(ObjectiveSettings& settings, const std::string& key) {
  for (const Section& section : {settings_of(settings.loss), settings_of(settings.advantages)}) {
    for (const Field& field : section.fields) {
      if (field.name == key) return field.meaning;
    }
  }
  COHORT_CHECK(false, key);
}

}  // namespace

std::string presets_text() {
  std::string text;
  for (const Preset& preset : presets()) {
    text += preset_heading(preset) + wrapped(preset.composition, "    ");
    if (*preset.settings != '\0') text += wrapped(str("sets ", preset.settings), "    ");
    if (*preset.run != '\0') text += wrapped(str("with ", preset.run), "    ");
  }
  return text + "\nreconstructed: the formula is known second-hand. `cohort objectives NAME` explains one.\n";
}

std::string preset_text(const std::string& name) {
  const Preset& preset = find_preset(name);
  ObjectiveSettings settings = settings_of_preset(name);
  std::string text = preset_heading(preset) + wrapped(preset.composition, "    ");
  text += "\nsets, and any of it may be set otherwise:\n";
  const auto pairs = settings_in(preset.settings);
  if (pairs.empty()) text += "    nothing: these are the defaults\n";
  for (const auto& [key, value] : pairs) {
    text += str("    ", key, " = ", value, "\n") + wrapped(meaning_of(settings, key), "        ");
  }
  if (*preset.run != '\0') text += "\na run of it sets:\n";
  for (const auto& [key, value] : settings_in(preset.run)) {
    text += str("    ", key, " = ", value, "\n");
    const std::string leaf = key.substr(key.rfind('.') + 1);
    if (key.starts_with("objective.") && is_objective_key(leaf)) set_objective_key(settings, leaf, value);
  }
  text += "\ncosts, beside a forward and a backward pass over the completions:\n";
  const auto costs = objective_costs(settings);
  if (costs.empty()) text += "    nothing\n";
  for (const std::string& cost : costs) text += wrapped(cost, "    ");
  if (settings.loss.max_completion_length == 0) settings.loss.max_completion_length = 1;  // the recipe's
  for (const std::string& warning : check_objective(settings)) text += "\n" + wrapped("Note: " + warning, "");
  return text;
}

}  // namespace cohort
