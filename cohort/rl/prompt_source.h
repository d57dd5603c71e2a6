// A source of prompts: stateful and resumable, so that shuffles, mixtures and curricula have one interface
// for a trainer.
#pragma once

#include <vector>

#include "cohort/rl/batch.h"

namespace cohort {

class PromptSource {
 public:
  virtual ~PromptSource() = default;

  /// The next `count` prompts; after the last one a new epoch begins.
  virtual std::vector<Prompt> next(int64_t count) = 0;

  /// Gets each step's samples with their rewards, for sources that adapt.
  virtual void feedback(const Batch& batch) { (void)batch; }

  /// Epochs begun, with the fraction of the current one: TRL's metric `epoch`.
  virtual double epoch() const = 0;

  /// Everything that `next` depends on, such that `load(save())` continues exactly.
  virtual Json save() const = 0;
  virtual void load(const Json& state) = 0;
};

}  // namespace cohort
