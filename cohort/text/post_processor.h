// The "post_processor" of tokenizer.json: the special tokens put around a text, and offsets less the spaces.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cohort/text/component.h"

namespace cohort {

/// Takes the white space out of the offsets of tokens.
struct OffsetTrim {
  bool add_prefix_space = false;  ///< the first token's only space was added, so it is not in the text
  bool behind_prefix = false;     ///< tokens are counted with those of the prefix
};

/// What stands before and behind the tokens of a single text.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
  std::vector<OffsetTrim> trims;  ///< one after another
};

/// Reads none, ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, or a Sequence with at most
/// one of those that add tokens. Throws FormatError naming another type, or a template that does not hold the
/// text exactly once.
PostProcessor parse_post_processor(const TokenizerJson& config);

/// How many characters that count as white space `spelling`, of well-formed UTF-8, begins or ends with.
int32_t leading_spaces(std::string_view spelling);
int32_t trailing_spaces(std::string_view spelling);

}  // namespace cohort
