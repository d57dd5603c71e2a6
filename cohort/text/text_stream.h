// The text of one completion, piece by piece while it is drawn.
#pragma once

#include <string>
#include <vector>

#include "cohort/text/incremental_detokenizer.h"

namespace cohort {

/// Gives whole characters only, and nothing that may turn out to be the beginning of a stop string.
class TextStream {
 public:
  /// `tokenizer` must outlive this.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop_strings, DecodeOptions options = {})
      : detokenizer_(tokenizer, options), stop_strings_(std::move(stop_strings)) {}

  /// The text that the completion's next token makes certain; often empty.
  std::string push(int32_t id);

  /// The rest of `text`, the whole completion's.
  std::string finish(const std::string& text);

 private:
  size_t num_certain() const;

  IncrementalDetokenizer detokenizer_;
  std::vector<std::string> stop_strings_;
  std::string text_;  // so far
  size_t num_given_ = 0;
};

}  // namespace cohort
