// What every kind of run does before its first step.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "cohort/core/config_io.h"
#include "cohort/models/decoder.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/config.h"
#include "cohort/train/run_directory.h"
#include "cohort/train/run_loop.h"

namespace cohort {

/// When the run was begun: now, or what it wrote down. What chat templates are told is the time.
std::tm run_start(const RunConfig& run, bool resume);

/// The directory of a run with these settings: a new one, or the one that is continued. A run that was killed
/// before it was set up is begun again.
template <typename Config>
RunDirectory open_run(const Config& config, bool resume, const std::tm& start) {
  Config copy = config;
  const std::string toml = to_toml(settings_of(copy));
  if (resume && RunDirectory::holds_run(config.run.dir)) return RunDirectory::resume(config.run.dir, toml);
  return RunDirectory::create(config.run.dir, toml, start);
}

/// The steps of a run: `max_steps`, or those that `epochs` of `rows` take, whichever ends first.
int64_t num_steps(std::optional<int64_t> max_steps, std::optional<double> epochs, int64_t rows,
                  int64_t rows_per_step);

/// A model's tokenizer. Throws FormatError where it has none, which text data need.
std::unique_ptr<const Tokenizer> require_tokenizer(const std::string& model_dir, const DecoderConfig& model);

/// The model to train: all of it, or adapters on it.
std::unique_ptr<Decoder> load_model(const ModelConfig& config, const LoraConfig& lora, int64_t seed);

/// A coefficient that nothing would heed is refused.
void check_router_loss(double router_aux_loss_coef, const DecoderConfig& model);

/// The part of a loop's settings that all kinds of runs have.
template <typename Loop>
LoopConfig loop_config(const Loop& train, int64_t steps) {
  return {.max_steps = steps,
          .save_steps = train.save_steps,
          .save_total_limit = train.save_total_limit,
          .max_nonfinite_steps = train.max_nonfinite_steps};
}

}  // namespace cohort
