// The "post_processor" of tokenizer.json: the special tokens put around a text.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/text/component.h"

namespace cohort {

/// What stands before and behind the tokens of a single text.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
};

/// Reads none, ByteLevel (which changes offsets only), TemplateProcessing, or a Sequence of them.
/// Throws FormatError naming another type, or a template that does not hold the text exactly once.
PostProcessor parse_post_processor(const TokenizerJson& config);

}  // namespace cohort
