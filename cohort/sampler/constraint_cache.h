// Constraints of a model, kept for those who ask for the same one again.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/sampler/constraint.h"
#include "cohort/text/grammar/output_form.h"

namespace cohort {

/// Any number of threads may use one object.
class ConstraintCache {
 public:
  /// The tokenizer must outlive this.
  explicit ConstraintCache(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// A new constraint, or the one that was made before for the same form and stop tokens. Throws UserError as
  /// the form's `write` and Constraint do.
  std::shared_ptr<Constraint> find(const OutputForm& form, const std::vector<int32_t>& stop_token_ids);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<Constraint> constraint;
  };

  const Tokenizer& tokenizer_;
  std::mutex mutex_;  // of all below
  std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  std::list<Entry> entries_;  // the last one asked for first
};

/// A constraint that shares nothing. Throws UserError as the form's `write` and Constraint do, and without a
/// tokenizer.
std::shared_ptr<Constraint> make_constraint(const OutputForm& form, const Tokenizer* tokenizer,
                                            const std::vector<int32_t>& stop_token_ids);

}  // namespace cohort
