// The words of a template, as Jinja's lexer cuts them with trim_blocks and lstrip_blocks on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/common/big_integer.h"

namespace cohort::jinja {

enum class TokenKind {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kText,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;  ///< data, a name, an operator's characters or the value of a string
  std::optional<BigInteger> integer{};
  double real = 0;
};

/// Ends with a kEnd token. Throws TemplateError naming the line for what Jinja can't cut. Time is linear.
std::vector<Token> tokenize(std::string_view source);

/// The value of a string literal between its quotes. Throws TemplateError for escapes that Python refuses.
std::string unescape(std::string_view literal, int line);

}  // namespace cohort::jinja
