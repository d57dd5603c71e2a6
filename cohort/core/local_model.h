// Ids of the Hugging Face Hub as names of models: they stand for the directory that the local cache holds.
#pragma once

#include <filesystem>
#include <string>

namespace cohort {

/// The directory whose files `model` names: `model` itself, or, if there is no such directory and it is the
/// id of a model on the Hub ("org/name"), the newest snapshot of its branch main in the cache of
/// huggingface_hub (HF_HUB_CACHE, HF_HOME, ~/.cache/huggingface/hub). Returns `model` if the cache does not
/// hold it. Downloads nothing.
std::filesystem::path local_model(const std::filesystem::path& model);

/// " (...)" with the command that downloads `model`, if it can be an id of the Hub; else empty.
std::string download_advice(const std::filesystem::path& model);

}  // namespace cohort
