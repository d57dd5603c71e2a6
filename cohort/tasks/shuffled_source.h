// A data set read again and again, in a fresh order every epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rl/prompt_source.h"

namespace cohort {

/// The order of epoch e is a pure function of (seed, e). A batch that reaches the end of an epoch goes on in
/// the next.
class ShuffledSource : public PromptSource {
 public:
  /// Without `shuffles` every epoch has the order of `prompts`. Throws ConfigError when `prompts` is empty.
  ShuffledSource(std::vector<Prompt> prompts, uint64_t seed, bool shuffles = true);

  std::vector<Prompt> next(int64_t count) override;
  double epoch() const override;
  Json save() const override;

  /// Throws FormatError when the state belongs to another seed or to a data set of another size.
  void load(const Json& state) override;

  int64_t num_prompts() const { return static_cast<int64_t>(prompts_.size()); }

 private:
  void shuffle();

  std::vector<Prompt> prompts_;
  std::vector<int64_t> order_;  // of epoch_
  uint64_t seed_;
  bool shuffles_;
  int64_t epoch_ = 0;
  int64_t position_ = 0;  // prompts of this epoch that were handed out
};

}  // namespace cohort
