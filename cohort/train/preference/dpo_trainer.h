// Offline training on preference pairs: what `cohort dpo` repeats.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/tasks/row_cursor.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/preference/preference_gradient.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/run_loop.h"

namespace cohort {

/// The reference's sequence_sums of a batch; empty where there is no reference.
using ReferenceSums = std::function<std::vector<double>(const std::vector<PreferenceExample>& batch)>;

PreferenceOptions preference_options(const DpoConfig& config);

class DpoTrainer : public Trainer {
 public:
  /// All arguments but the settings must outlive this.
  DpoTrainer(const DpoConfig& config, int64_t num_updates, Decoder& policy, ReferenceSums reference,
             const SftFormat& format, RowCursor& rows, AdamW& optimizer);

  StepReport step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;

  /// The metrics of held-out pairs, with `eval_` before their names; the smallest loss is the best. The
  /// reference is asked for them once, so give the same ones every time.
  EvalRecord evaluate(const std::vector<PreferenceExample>& held_out);

 private:
  std::vector<double> reference_sums(const std::vector<PreferenceExample>& batch) const;

  DpoConfig config_;
  int64_t num_updates_;
  Decoder& policy_;
  ReferenceSums reference_;
  SftFormat format_;
  RowCursor& rows_;
  AdamW& optimizer_;
  std::vector<double> held_out_sums_;
  int64_t num_tokens_ = 0;
};

}  // namespace cohort
