// The keys that single aggregations and KL estimators have, apart from their code so that reading a recipe
// needs no torch. Keys that several of them read are LossConfig's.
#pragma once

#include <string>

#include "cohort/core/config.h"
#include "cohort/objectives/choices.h"

namespace cohort {

struct TokenMeanKeys {
  std::string scope = "batch";  ///< what the tokens are counted over

  bool is_of_groups() const { return scope == "group"; }
  bool is_of_micro_batches() const { return scope == "micro_batch"; }

  void describe(FieldVisitor& f);
};

struct K3Keys {
  bool use_bias_correction = false;

  void describe(FieldVisitor& f);
};

/// The keys of each aggregation, under its name.
struct AggregationKeys {
#define AGGREGATION(id, Keys, ...) Keys id{};
#include "cohort/objectives/aggregations.def"
#undef AGGREGATION

  void describe(FieldVisitor& f);
};

/// The keys of each KL estimator, under its name.
struct KlEstimatorKeys {
#define KL_ESTIMATOR(id, Keys, ...) Keys id{};
#include "cohort/objectives/kl_estimators.def"
#undef KL_ESTIMATOR

  void describe(FieldVisitor& f);
};

}  // namespace cohort
