#include "cohort/models/model_directory.h"

#include "cohort/core/error.h"
#include "cohort/core/local_model.h"
#include "cohort/models/config_reader.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

bool has(const fs::path& directory, const char* name) { return fs::exists(local_model(directory) / name); }

/// Names what the directory is, if it is no model but something else of a run.
void refuse_other_directories(const fs::path& directory) {
  if (has(directory, "config.json") || !fs::is_directory(directory)) return;
  if (has(directory, "config.toml") && has(directory, "checkpoints")) {
    throw FormatError(str(directory.string(), ": is a run; its models are ", (directory / "final").string(),
                          " and the folders in ", (directory / "checkpoints").string()));
  }
  if (has(directory, "state.json") && has(directory, "weights.safetensors")) {
    throw FormatError(
        str(directory.string(),
            ": is a checkpoint of an earlier version, which holds no config.json: resume the run, whose next "
            "checkpoint holds one"));
  }
}

}  // namespace

bool is_adapter_directory(const fs::path& directory) {
  return has(directory, "adapter_config.json") && !has(directory, "config.json");
}

bool is_checkpoint(const fs::path& directory) {
  return has(directory, "state.json") &&
         (has(directory, "optimizer.safetensors") || has(directory, "optimizer.safetensors.index.json"));
}

fs::path base_of_adapter(const fs::path& adapter_dir) {
  const fs::path path = local_model(adapter_dir) / "adapter_config.json";
  const Json config = read_json(path);
  const ConfigReader reader(config, path);
  std::string base = reader.has("base_model_name_or_path") ? reader.text("base_model_name_or_path") : "";
  const std::string what = str(adapter_dir.string(), ": is an adapter, not a whole model");
  if (base.empty()) throw FormatError(str(what, ": give its base model as --model and this as --adapter"));
  if (!has(base, "config.json")) {
    throw FormatError(str(what, ", and its base model \"", base,
                          "\" (base_model_name_or_path of adapter_config.json) is no model directory here: "
                          "give the base as --model and this as --adapter",
                          download_advice(base)));
  }
  return base;
}

void require_whole_model(const fs::path& directory) {
  refuse_other_directories(directory);
  if (!is_adapter_directory(directory)) return;
  throw FormatError(str(directory.string(),
                        ": is an adapter, not a whole model: make one of it by cohort merge --model ",
                        directory.string(), " --output DIR"));
}

ModelPlace find_model(const fs::path& model, const fs::path& adapter) {
  refuse_other_directories(model);
  if (!adapter.empty()) refuse_other_directories(adapter);
  if (!is_adapter_directory(model)) return {model, adapter};
  if (!adapter.empty()) {
    throw FormatError(str("--model ", model.string(), " is an adapter, as ", adapter.string(),
                          " is: give the base model as --model"));
  }
  return {base_of_adapter(model), model};
}

}  // namespace cohort
