// The "pre_tokenizer" of tokenizer.json: cuts a text into the words inside which BPE merges.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/component.h"
#include "cohort/text/regex.h"

namespace cohort {

/// What becomes of a match (a delimiter) and of the gaps beside it.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

class PreTokenizer {
 public:
  /// Throws FormatError naming a type or a pattern that is not supported, and where no ByteLevel step comes
  /// last.
  explicit PreTokenizer(const TokenizerJson& config);

  /// The words of well-formed UTF-8, none empty, as bytes (ByteLevel's mapping to characters is left to the
  /// model).
  std::vector<std::string> split(std::string_view text) const;

 private:
  struct Step {
    std::optional<Regex> regex;  ///< absent: the text stays whole
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;            ///< the gaps are the delimiters
    bool add_prefix_space = false;  ///< a space before a text that begins with none
  };

  static Step split_step(const TokenizerJson& config);
  static Step digits_step(const TokenizerJson& config);
  static Step byte_level_step(const TokenizerJson& config);

  std::vector<Step> steps_;
};

/// Joins or drops neighbouring spans as `behavior` says; spans left for removal keep `is_match`.
std::vector<TextSpan> apply_behavior(const std::vector<TextSpan>& spans, SplitBehavior behavior);

}  // namespace cohort
