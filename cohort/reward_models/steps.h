// The steps of a worked solution: where they end in its text and in its tokens. Training data and completions
// are cut by the same rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/tokenizer.h"

namespace cohort {

/// A text cut at a separator. Blank stretches between separators are no steps; a text that is all blank is
/// one.
struct Steps {
  std::vector<size_t> ends;  ///< bytes up to the end of each step, its separator included
  bool is_open = false;      ///< the last step has no separator: it ends with the text
};

Steps split_steps(std::string_view text, std::string_view separator);

/// For each of `ends`, ascending bytes of what `ids` decode to without special tokens: how many ids it takes
/// to get there.
std::vector<int64_t> token_ends(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                                const std::vector<size_t>& ends);

/// A solution as a process-reward model reads it: every step ends with the separator.
struct StepTokens {
  std::vector<int32_t> ids;
  std::vector<int64_t> ends;  ///< tokens of `ids` up to the end of each step, its separator included
};

/// `ids`, which decode to `text`, up to the last step's end; an open last step is closed by the separator's
/// own ids. So tokens stay as a policy samples them, and the model sees what ends a step wherever it is
/// asked.
StepTokens step_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text,
                       const std::string& separator);

}  // namespace cohort
