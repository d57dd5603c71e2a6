// The "normalizer" of tokenizer.json: none, NFC, or a sequence of these.
#pragma once

#include <string>
#include <string_view>

#include "cohort/text/component.h"

namespace cohort {

class Normalizer {
 public:
  /// Throws FormatError naming a type that is not supported.
  explicit Normalizer(const TokenizerJson& config);

  /// `text` must be well-formed UTF-8.
  std::string normalize(std::string_view text) const;

 private:
  bool nfc_ = false;
};

/// Unicode normalization form C with the tables of Hugging Face's tokenizers; O(n log n).
std::string normalize_nfc(std::string_view text);

}  // namespace cohort
