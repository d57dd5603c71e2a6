// Splits LaTeX or plain mathematics into tokens: thousands separators joined, fonts and spacing dropped,
// Unicode signs and aliases in one spelling.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libs/answers/comparison.h"

namespace cohort::answers {

enum class TokenKind { kEnd, kNumber, kSymbol, kFunction, kStructure, kText, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  bool has_space = false;  ///< white space stands before it
  bool is_latex = false;   ///< written with a backslash
};

constexpr size_t kMaxTokens = 2000;

/// The tokens of `text`, ended by one of kEnd. Throws ParseFailure.
std::vector<Token> tokenize(std::string_view text);

}  // namespace cohort::answers
