#include "cohort/train/run/lora_start.h"

#include <algorithm>
#include <set>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/models/adapter.h"
#include "cohort/train/run/common_config.h"

namespace cohort {
namespace {

/// The same modules, where "all-linear" stands for the seven projections.
bool has_same_targets(const std::vector<std::string>& recipe, const std::vector<std::string>& adapter) {
  const auto expanded = [](const std::vector<std::string>& names) {
    std::set<std::string> set(names.begin(), names.end());
    if (set.erase("all-linear") > 0)
      set.insert({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"});
    return set;
  };
  return expanded(recipe) == expanded(adapter);
}

}  // namespace

void take_adapter_settings(LoraConfig& lora, const std::string& path) {
  const double dropout = lora.dropout;
  lora = read_lora_config(path);
  lora.dropout = dropout;
  lora.path = path;
}

void check_adapter_settings(const LoraConfig& lora) {
  LoraConfig adapter = lora, recipe = lora;
  take_adapter_settings(adapter, lora.path);
  if (has_same_targets(recipe.target_modules, adapter.target_modules))
    recipe.target_modules = adapter.target_modules;
  std::string list;
  for (const SettingChange& change : changed_settings(settings_of(adapter), settings_of(recipe))) {
    list += str(list.empty() ? "" : ", ", "lora.", change.key, " = ", change.now, " where the adapter has ",
                change.before);
  }
  if (!list.empty()) {
    throw ConfigError(str("lora.path: a run that goes on with ", lora.path, " keeps its settings: ", list,
                          "; remove the keys"));
  }
}

void start_adapters(const LoraConfig& lora, const std::string& model_dir, uint64_t seed, Decoder& decoder) {
  if (lora.path.empty()) {
    decoder.adapt(lora, seed);
    return;
  }
  check_adapter_settings(lora);
  LoraConfig config = read_lora_config(lora.path);
  config.dropout = lora.dropout;
  decoder.adapt(config, seed);
  load_adapter_weights(model_dir, lora.path, decoder);
}

}  // namespace cohort
