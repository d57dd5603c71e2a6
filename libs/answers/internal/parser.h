// From the text of an answer to its tree.
#pragma once

#include <optional>
#include <string_view>

#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/lexer.h"
#include "libs/answers/internal/tree.h"

namespace cohort::answers {

struct Expression {
  Tree tree;
  NodeId root = 0;
};

/// Longer answers are not read.
constexpr size_t kMaxAnswerBytes = 4096;

/// The tree of the whole of `text`; nothing with the reason in `failure` where it is no mathematics, has what
/// this verifier doesn't know, or passes a limit. Letters that are variables here or among `others` are read
/// as such. The time is linear in the text.
std::optional<Expression> parse(std::string_view text, ParseFailure& failure, const Names& others = {});

/// The letters that the text uses as variables beyond doubt; none where it has no tokens.
Names variables_of(std::string_view text);

}  // namespace cohort::answers
