// What cohort.Engine of Python holds: a model with its tokenizer, its sampler and its optimizer. Knows
// nothing of Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/models/weight_snapshot.h"
#include "cohort/records/tensorboard.h"
#include "cohort/rl/batch.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/run/optimizer.h"
#include "python/engine_settings.h"

namespace cohort::python {

/// A tokenizer and the chat template of its model directory.
struct TextSide {
  std::unique_ptr<const Tokenizer> tokenizer;
  TextFormat format;
};

/// Called between two passes, by the thread that makes them; what it throws ends the call.
using BetweenPasses = std::function<void()>;

/// Weights that no longer change, or those of an engine, and how packed passes over them are cut. A value.
class ScoringPass {
 public:
  ScoringPass(WeightSnapshot weights, LossOptions options)
      : weights_(std::move(weights)), options_(std::move(options)) {}

  const DecoderConfig& model() const { return weights_.decoder().config(); }

  /// Sets `ref_logprobs` of all samples, natural logs at `temperature`, without gradient.
  void fill_logprobs(std::span<Group> groups, double temperature, const BetweenPasses& between) const;

  /// Sets `entropies` of all samples, in nats.
  void fill_entropies(std::span<Group> groups, double temperature, const BetweenPasses& between) const;

 private:
  LossOptions options(double temperature, const BetweenPasses& between) const;

  WeightSnapshot weights_;
  LossOptions options_;
};

/// One thread at a time.
class PolicyEngine {
 public:
  /// Loads model and tokenizer. Throws UserError for settings and files that cannot be used.
  explicit PolicyEngine(EngineSettings settings);

  const DecoderConfig& model() const { return decoder_->config(); }
  const EngineSettings& settings() const { return settings_; }
  at::ScalarType dtype() const { return decoder_->compute_dtype(); }

  /// Null if the model directory has no tokenizer.json.
  const std::shared_ptr<const TextSide>& text() const { return text_; }

  /// Updates so far.
  int64_t num_updates() const { return optimizer_ ? optimizer_->num_updates() : 0; }

  /// The largest difference of a log-probability between sampler and trainer: 0 on an exact platform.
  double sampler_trainer_difference() const;

  /// `num_generations` completions of each prompt. Throws UserError for prompts that leave no room.
  std::vector<Group> generate(const std::vector<Prompt>& prompts, int64_t num_generations,
                              const SamplingParams& params, const RolloutAddress& address,
                              const BetweenPasses& between);

  /// A pass over the weights as they are at the time of each call.
  ScoringPass current() const { return {*decoder_, options()}; }

  /// The weights as they are now; without its adapters if `with_adapters` is false.
  ScoringPass snapshot(bool with_adapters) const;

  /// Adds the gradient of a loss over `groups`, one batch, to the gradient since the last update: that of the
  /// objective, or `loss` if it is not empty. An exception leaves no gradient.
  Metrics forward_backward(std::span<const Group> groups, const LossConfig& objective, double temperature,
                           const BetweenPasses& between, const LossFunction& loss = {});

  /// Clips the gradient, makes one AdamW update with it and drops it; leaves the update out if a loss or the
  /// gradient is not finite. Throws std::runtime_error if there is no gradient.
  Metrics optim_step(double learning_rate);

  void zero_grad();

  /// Writes the model, or its adapters, as a new directory with the tokenizer's files. Throws FileError if
  /// `directory` holds anything.
  void save(const std::filesystem::path& directory) const;

  /// Whether a call works on the engine; the caller's to set.
  std::atomic_flag& is_busy() { return is_busy_; }

 private:
  LossOptions options() const;
  AdamW& optimizer();

  EngineSettings settings_;
  std::unique_ptr<Decoder> decoder_;
  std::shared_ptr<const TextSide> text_;
  Sampler sampler_;
  std::optional<AdamW> optimizer_;  // made when it is first needed: it takes two floats a weight
  int64_t num_gradients_ = 0;       // losses whose gradients were added since the last update
  bool is_finite_ = true;           // all of them
  std::atomic_flag is_busy_;
};

}  // namespace cohort::python
