#include "cohort/sampler/constraint_cache.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr size_t kMostEntries = 16;

}  // namespace

std::shared_ptr<Constraint> ConstraintCache::find(const OutputForm& form,
                                                  const std::vector<int32_t>& stop_token_ids) {
  std::string key = form.key;
  for (const int32_t id : stop_token_ids) key += str(' ', id);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(entries_, key, &Entry::key);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->constraint;
  }
  Grammar grammar;
  form.write(grammar, grammar.begin(0), grammar.end(0));
  if (vocabulary_ == nullptr) vocabulary_ = std::make_shared<const ConstraintVocabulary>(tokenizer_);
  entries_.push_front({std::move(key), std::make_shared<Constraint>(grammar, vocabulary_, stop_token_ids)});
  if (entries_.size() > kMostEntries) entries_.pop_back();
  return entries_.front().constraint;
}

std::shared_ptr<Constraint> make_constraint(const OutputForm& form, const Tokenizer* tokenizer,
                                            const std::vector<int32_t>& stop_token_ids) {
  if (tokenizer == nullptr) throw UserError("a form of the output needs a tokenizer, and the model has none");
  return ConstraintCache(*tokenizer).find(form, stop_token_ids);
}

}  // namespace cohort
