// Constraints of a served model, kept for requests that ask for the same one again.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/sampler/constraint.h"

namespace cohort {

/// Any number of threads may use one object.
class ConstraintCache {
 public:
  /// The tokenizer must outlive this.
  explicit ConstraintCache(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The constraint that `write` makes, or that it made before for the same key and stop tokens. Throws as
  /// `write` and Constraint do.
  std::shared_ptr<Constraint> find(std::string key, const std::vector<int32_t>& stop_token_ids,
                                   const std::function<void(Grammar& grammar)>& write);

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

}  // namespace cohort
