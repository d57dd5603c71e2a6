#include "cohort/models/lora_config.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "cohort/core/error.h"

namespace cohort {
namespace {

std::regex regex_of(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw ConfigError(str("lora: \"", pattern, "\" is no regular expression: ", error.what()));
  }
}

bool matches_whole(const std::string& pattern, const std::string& module) {
  return std::regex_match(module, regex_of(pattern));
}

/// The number behind a list of layers in the module's name, as PEFT finds it; -1 for a module of no layer.
int64_t layer_of(const LoraConfig& config, const std::string& module) {
  const std::vector<std::string> any_list{"[^.]*"};
  for (const std::string& list : config.layers_pattern.empty() ? any_list : config.layers_pattern) {
    std::smatch match;
    const std::regex name = regex_of(".*\\." + list + "\\.(\\d{1,9})\\.");
    if (std::regex_search(module, match, name, std::regex_constants::match_continuous))
      return std::stoll(match[1].str());
  }
  return -1;
}

bool is_in_layers(const LoraConfig& config, const std::string& module) {
  const auto& layers = config.layers_to_transform;
  return layers.empty() || std::find(layers.begin(), layers.end(), layer_of(config, module)) != layers.end();
}

/// Whether the name is one of `ends`, or ends with a point and one of them.
bool ends_with_any(const std::string& module, const std::vector<std::string>& ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const std::string& end) { return module == end || module.ends_with("." + end); });
}

/// The value of the first pattern that matches the end of the name, else `fallback`.
template <typename T>
T value_of(const std::map<std::string, T>& patterns, const std::string& module, T fallback) {
  for (const auto& [pattern, value] : patterns) {
    if (matches_whole("(.*\\.)?(" + pattern + ")", module)) return value;
  }
  return fallback;
}

}  // namespace

bool is_targeted(const LoraConfig& config, const std::string& module, bool is_head) {
  if (!config.exclude_pattern.empty() && matches_whole(config.exclude_pattern, module)) return false;
  if (ends_with_any(module, config.exclude_modules) || ends_with_any(module, config.modules_to_save)) {
    return false;
  }
  if (!config.target_pattern.empty()) return matches_whole(config.target_pattern, module);
  if (config.target_modules == std::vector<std::string>{"all-linear"}) return !is_head;
  const auto& targets = config.target_modules;
  const bool is_named_whole = std::find(targets.begin(), targets.end(), module) != targets.end();
  return is_named_whole || (ends_with_any(module, targets) && is_in_layers(config, module));
}

LoraShape lora_shape(const LoraConfig& config, const std::string& module) {
  const int64_t r = value_of(config.rank_pattern, module, config.r);
  const double alpha = value_of(config.alpha_pattern, module, config.alpha);
  const auto rank = static_cast<double>(r);
  return {r, alpha / (config.use_rslora ? std::sqrt(rank) : rank)};
}

}  // namespace cohort
