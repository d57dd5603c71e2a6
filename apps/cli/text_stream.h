// The text of one completion, written while it is drawn.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "cohort/text/incremental_detokenizer.h"

namespace cohort::cli {

/// Writes whole characters only, and nothing that may turn out to be the beginning of a stop string.
class TextStream {
 public:
  /// `tokenizer` and `out` must outlive this.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop_strings, std::ostream& out,
             DecodeOptions options = {})
      : detokenizer_(tokenizer, options), stop_strings_(std::move(stop_strings)), out_(out) {}

  /// Writes what the next token of the completion makes certain.
  void push(int32_t id);

  /// Writes the rest of `text`, the whole completion's.
  void finish(const std::string& text);

 private:
  size_t num_certain() const;

  IncrementalDetokenizer detokenizer_;
  std::vector<std::string> stop_strings_;
  std::ostream& out_;
  std::string text_;  // so far
  size_t num_written_ = 0;
};

}  // namespace cohort::cli
