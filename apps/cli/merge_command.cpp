// cohort merge: writes a plain model directory.
#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/models/adapter.h"
#include "cohort/models/model_directory.h"
#include "cohort/models/pretrained.h"

namespace cohort::cli {
namespace {

struct MergeConfig {
  std::string model, adapter, output;

  void describe(FieldVisitor& f) {
    f("model", model, "Hugging Face model directory, an adapter's or a checkpoint's; required.");
    f("adapter", adapter, "PEFT adapter directory to merge in; empty: a pure copy.");
    f("output", output, "The new model directory; required. It must not exist.");
  }
};

}  // namespace

int merge_command(const Command& self, const Arguments& arguments) {
  MergeConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  require(config.output, "output");
  if (std::filesystem::exists(config.output)) {
    throw ConfigError("--output: " + config.output + " exists; name a new directory");
  }
  const ModelPlace place = find_model(config.model, config.adapter);
  if (place.adapter_dir.empty()) {
    copy_pretrained(place.model_dir, config.output);
  } else {
    merge_adapter(place.model_dir, place.adapter_dir, config.output);
  }
  return 0;
}

}  // namespace cohort::cli
