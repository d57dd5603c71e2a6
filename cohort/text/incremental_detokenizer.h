// Text of a completion while it is being sampled: what is certain so far, never half a character.
#pragma once

#include <string>
#include <vector>

#include "cohort/text/tokenizer.h"

namespace cohort {

/// All returned texts joined, finish()'s last, equal Tokenizer::decode of all ids. One thread at a time;
/// `tokenizer` must outlive it.
class IncrementalDetokenizer {
 public:
  explicit IncrementalDetokenizer(const Tokenizer& tokenizer, DecodeOptions options = {})
      : tokenizer_(&tokenizer), options_(options), strips_left_(tokenizer.decoder().shape().num_strip) {}

  /// The text that is certain now and was not before; often empty, while a character's bytes are incomplete.
  /// Fallback bytes such as <0xE6> are certain only when another token follows: one ill-formed byte spoils
  /// the whole run.
  std::string push(int32_t id);

  /// What was held back, where no id follows: U+FFFD for an incomplete character, else nothing.
  std::string finish();

 private:
  std::string push_piece(const std::string& token);
  std::string flush_bytes();
  std::string strip(const std::string& text);

  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  int64_t strips_left_;            // characters that may still be left out at the beginning
  bool is_first_ = true;           // no token yet
  std::string pending_;            // bytes held back
  std::vector<int32_t> held_ids_;  // all ids, where the decoder needs the whole
};

}  // namespace cohort
