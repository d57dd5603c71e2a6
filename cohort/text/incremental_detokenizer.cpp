#include "cohort/text/incremental_detokenizer.h"

#include "cohort/text/utf8.h"

namespace cohort {

std::string IncrementalDetokenizer::push(int32_t id) {
  if (options_.skip_special_tokens && tokenizer_->is_special(id)) return "";
  pending_ += tokenizer_->token_bytes(id);
  return take_certain_utf8(pending_);
}

std::string IncrementalDetokenizer::finish() { return take_all_utf8(pending_); }

}  // namespace cohort
