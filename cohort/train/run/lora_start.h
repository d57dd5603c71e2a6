// Training that goes on with an existing adapter: lora.path.
#pragma once

#include "cohort/models/decoder.h"
#include "cohort/models/lora_config.h"

namespace cohort {

/// Gives `lora` the settings of the adapter in `path` as defaults, which a recipe's own keys then override.
/// Dropout stays the recipe's: it belongs to the training, not to the adapter.
void take_adapter_settings(LoraConfig& lora, const std::string& path);

/// Throws ConfigError for the keys of a recipe that contradict the adapter in `lora.path`.
void check_adapter_settings(const LoraConfig& lora);

/// Puts the adapters of a recipe on a frozen decoder that was read from `model_dir`: new ones, random by
/// `seed`, or those in `lora.path`.
void start_adapters(const LoraConfig& lora, const std::string& model_dir, uint64_t seed, Decoder& decoder);

}  // namespace cohort
