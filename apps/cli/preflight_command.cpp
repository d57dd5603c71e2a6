// cohort preflight: what a recipe would do, before a long run.
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/scratch_directory.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/core/log.h"
#include "cohort/train/grpo/run_estimate.h"
#include "cohort/train/run/lora_start.h"

namespace cohort::cli {
namespace {

struct PreflightConfig {
  double price_per_hour = 0.0;
  int64_t threads = 0;
  bool json = false;
  TrainConfig recipe;

  void describe(FieldVisitor& f) {
    f("price_per_hour", price_per_hour, "What the machine costs; adds the cost of the run.", at_least(0.0));
    f("threads", threads, "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores.",
      at_least(0));
    f("json", json, "Print JSON instead of text.");
    recipe.describe(f);
  }

  void prepare(const PreflightConfig& given) {
    recipe.apply_preset(given.recipe);
    const std::string& path = given.recipe.lora.path;
    if (!path.empty()) take_adapter_settings(recipe.lora, path);
  }

  void settle() { recipe.objective.loss.loss_type = "none"; }
};

bool has_error(const RunEstimate& estimate) {
  return !estimate.findings.empty() && estimate.findings.front().severity == Severity::kError;
}

}  // namespace

int preflight_command(const Command& self, const Arguments& arguments) {
  PreflightConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  if (!config.recipe.objective.python.empty() || !config.recipe.objective.python_advantages.empty()) {
    throw ConfigError(
        "objective.python: cohort preflight can't call a loss or advantages of yours; leave the setting out "
        "for the estimate");
  }
  set_threads(config.threads);
  log_warnings_alone("preflight: ");  // the runs that are tried would each say the same
  const ScratchDirectory scratch("cohort-preflight-");
  const RunEstimate estimate = estimate_run(config.recipe, scratch.path());
  if (config.json) {
    std::cout << to_json_text(to_json(estimate, config.price_per_hour)) << "\n";
  } else {
    std::cout << describe(estimate, config.price_per_hour);
  }
  return has_error(estimate) ? 2 : 0;
}

}  // namespace cohort::cli
