// Answers that give the text of a choice in place of its letter.
#pragma once

#include <optional>
#include <string>

#include "cohort/rewards/choice/clause.h"
#include "cohort/rewards/choice/stated_choice.h"

namespace cohort::choice {

/// The words and numbers of the tokens from `begin` to `end`, which are the same in every spelling.
std::string words_of(const Tokens& tokens, size_t begin, size_t end);

/// The choice whose text the last announcement gives: "The answer is Paris."
std::optional<char> find_announced_text(const Tokens& tokens, const Choices& choices);

}  // namespace cohort::choice
