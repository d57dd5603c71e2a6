// What a command may be given as a model: a Hugging Face directory, an adapter's, or a checkpoint of a run.
#pragma once

#include <filesystem>

namespace cohort {

struct ModelPlace {
  std::filesystem::path model_dir;    ///< a directory with a config.json
  std::filesystem::path adapter_dir;  ///< a PEFT directory; empty without an adapter
};

/// Whether the directory holds an adapter and no model.
bool is_adapter_directory(const std::filesystem::path& directory);

/// Whether the directory is a checkpoint that a run wrote: a model or an adapter with an optimizer's state.
bool is_checkpoint(const std::filesystem::path& directory);

/// The base model that an adapter's adapter_config.json names. Throws FormatError where that is no local
/// directory, saying what to give instead.
std::filesystem::path base_of_adapter(const std::filesystem::path& adapter_dir);

/// Throws FormatError where the directory is something else of a run than a whole model: an adapter, a run
/// or a checkpoint that holds no config.json.
void require_whole_model(const std::filesystem::path& directory);

/// Resolves what `model` and `adapter` (empty: none) name; `model` may be an adapter's directory. Throws
/// FormatError for a run's directory, for a checkpoint that holds no config.json and for two adapters.
ModelPlace find_model(const std::filesystem::path& model, const std::filesystem::path& adapter = {});

}  // namespace cohort
