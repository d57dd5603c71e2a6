// Text of a completion while it is being sampled: what is certain so far, never half a character.
#pragma once

#include <string>

#include "cohort/text/tokenizer.h"

namespace cohort {

/// All returned texts joined, finish()'s last, equal Tokenizer::decode of all ids. One thread at a time;
/// `tokenizer` must outlive it.
class IncrementalDetokenizer {
 public:
  explicit IncrementalDetokenizer(const Tokenizer& tokenizer, DecodeOptions options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// The text that is certain now and was not before; often empty, while a character's bytes are incomplete.
  std::string push(int32_t id);

  /// What was held back, where no id follows: U+FFFD for an incomplete character, else nothing.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string pending_;  // the at most three bytes held back
};

}  // namespace cohort
