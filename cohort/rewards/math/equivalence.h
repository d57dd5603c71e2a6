// Do two answers say the same? With extraction.h the only door to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/rewards/math/lexer.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

struct Judgement {
  Verdict verdict;
  std::optional<ParseFailure> gold_failure;    ///< why the gold answer was not read
  std::optional<ParseFailure> answer_failure;  ///< why the other was not read
};

/// Compares two answers in LaTeX, plain mathematics or words. The verdict is symmetric, depends on the two
/// texts alone, and takes bounded time; any thread may call.
Judgement judge(std::string_view gold, std::string_view answer);

/// What an answer was read as, for explanations: its tree in prefix form, its words, or why it was not read.
std::string describe_answer(std::string_view answer);

}  // namespace cohort::math
