// Splits LaTeX or plain mathematics into tokens: thousands separators joined, fonts and spacing dropped,
// Unicode signs and aliases in one spelling.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort::math {

enum class TokenKind { kEnd, kNumber, kSymbol, kFunction, kStructure, kText, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  bool has_space = false;  ///< white space stands before it
  bool is_latex = false;   ///< written with a backslash
};

/// Why a text is no mathematics that we read; caught by `parse`.
struct ParseFailure {
  enum class Kind { kMalformed, kUnsupported, kTooLarge } kind = Kind::kMalformed;
  std::string reason;
};

constexpr size_t kMaxTokens = 2000;

/// The tokens of `text`, ended by one of kEnd. Throws ParseFailure.
std::vector<Token> tokenize(std::string_view text);

}  // namespace cohort::math
