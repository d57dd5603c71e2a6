// Which modules of a model get low-rank adapters, and of which size; names and meanings are PEFT's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

struct LoraConfig {
  int64_t r = 0;  ///< 0: no adapters
  double alpha = 32.0;
  double dropout = 0.0;
  std::vector<std::string> target_modules{"all-linear"};  ///< ends of module names
  std::vector<std::string> exclude_modules = {};
  std::string target_pattern = {}, exclude_pattern = {};  ///< regular expressions in their place; empty: none
  bool use_rslora = false;
  bool use_dora = false;
  std::vector<int64_t> layers_to_transform = {};     ///< adapters in these layers only; empty: in all
  std::vector<std::string> layers_pattern = {};      ///< names of the lists of layers; empty: any name
  std::map<std::string, int64_t> rank_pattern = {};  ///< regular expression of names -> r
  std::map<std::string, double> alpha_pattern = {};  ///< regular expression of names -> alpha
  std::vector<std::string> modules_to_save = {};     ///< trained whole beside the adapters
  std::string path = {};      ///< a PEFT directory that training goes on with; empty: new adapters
  Json raw = Json::object();  ///< of the file that was read; written back

  bool operator==(const LoraConfig&) const = default;
};

/// r and scale of the adapter of a module.
struct LoraShape {
  int64_t r;
  double scale;  ///< alpha / r, or alpha / sqrt(r) with use_rslora
};

/// Whether a module (such as "model.layers.0.self_attn.q_proj") gets an adapter. `is_head`: of the model's
/// output, which "all-linear" leaves out. Throws ConfigError for a malformed regular expression.
bool is_targeted(const LoraConfig& config, const std::string& module, bool is_head);

LoraShape lora_shape(const LoraConfig& config, const std::string& module);

}  // namespace cohort
