#include "libs/answers/internal/letters.h"

#include <algorithm>

namespace cohort::answers {
namespace {

constexpr std::string_view kUnitLetters = "mshgLNJWVA";

const Token& at(const std::vector<Token>& tokens, size_t place) {
  return tokens[std::min(place, tokens.size() - 1)];
}

bool is_sign(const Token& token, std::string_view text) {
  return token.text == text && (token.kind == TokenKind::kPunctuation || token.kind == TokenKind::kStructure);
}

bool ends_value(const Token& token) {
  if (token.kind == TokenKind::kEnd) return true;
  for (std::string_view sign : {".", ",", ";", "and", "or", "}", "approx"}) {
    if (is_sign(token, sign)) return true;
  }
  return false;
}

// The place behind an exponent of a digit, 2 or {2} or {-1}, where one stands at `place`.
size_t behind_exponent(const std::vector<Token>& tokens, size_t place) {
  if (!is_sign(at(tokens, place), "^")) return place;
  size_t next = place + 1;
  const bool has_braces = is_sign(at(tokens, next), "{");
  next += has_braces;
  next += is_sign(at(tokens, next), "-");
  if (at(tokens, next).kind != TokenKind::kNumber || at(tokens, next).text.size() > 1) return place;
  ++next;
  if (has_braces && !is_sign(at(tokens, next), "}")) return place;
  return next + has_braces;
}

bool is_ohm(const Token& token) {
  return token.kind == TokenKind::kSymbol && token.is_latex && token.text == "Omega";
}

bool is_unit_letter(const Token& token) {
  const bool is_letter = token.kind == TokenKind::kSymbol && !token.is_latex && token.text.size() == 1 &&
                         kUnitLetters.find(token.text) != std::string_view::npos;
  return is_letter || is_ohm(token);
}

// The letter below the slash of 10 m/s.
bool may_be_divisor(const std::vector<Token>& tokens, size_t place) {
  if (place < 2 || !is_unit_letter(tokens[place]) || !is_sign(tokens[place - 1], "/")) return false;
  return tokens[place - 2].kind == TokenKind::kText || may_be_unit_letter(tokens, place - 2);
}

}  // namespace

bool may_be_function(const std::vector<Token>& tokens, size_t place) {
  const Token& token = tokens[place];
  if (token.kind != TokenKind::kSymbol || token.is_latex) return false;
  if (token.text != "f" && token.text != "g" && token.text != "h") return false;
  size_t next = place + 1;
  while (is_sign(at(tokens, next), "'")) ++next;
  if (is_sign(at(tokens, next), "^")) {
    const bool is_inverse = is_sign(at(tokens, next + 1), "{") && is_sign(at(tokens, next + 2), "-") &&
                            at(tokens, next + 3).text == "1" && is_sign(at(tokens, next + 4), "}");
    if (!is_inverse) return false;
    next += 5;
  }
  return is_sign(at(tokens, next), "(");
}

bool may_be_unit_letter(const std::vector<Token>& tokens, size_t place) {
  if (place == 0 || !is_unit_letter(tokens[place])) return false;
  if (!tokens[place].has_space && !is_ohm(tokens[place])) return false;
  if (tokens[place - 1].kind != TokenKind::kNumber) return false;
  size_t next = behind_exponent(tokens, place + 1);
  if (is_sign(at(tokens, next), "/") && is_unit_letter(at(tokens, next + 1)))
    next = behind_exponent(tokens, next + 2);
  return ends_value(at(tokens, next));
}

bool may_be_variable(const std::vector<Token>& tokens, size_t place) {
  if (tokens[place].kind != TokenKind::kText || tokens[place].text.size() != 1) return false;
  const Token& next = at(tokens, behind_exponent(tokens, place + 1));
  return !ends_value(next) && !is_sign(next, "/");
}

Names find_variables(const std::vector<Token>& tokens) {
  Names names;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::kSymbol || may_be_function(tokens, i)) continue;
    if (!may_be_unit_letter(tokens, i) && !may_be_divisor(tokens, i)) names.insert(tokens[i].text);
  }
  return names;
}

bool is_unknown_function(std::string_view name) {
  if (name == "cross") return true;
  const bool is_letter = !name.empty() && (name[0] == 'f' || name[0] == 'g' || name[0] == 'h');
  return is_letter && (name.size() == 1 || name[1] == '\'' || name[1] == '^');
}

bool is_roman(std::string_view run) {
  if (run.size() < 2) return false;
  // Tens and ones as they are written, one after the other.
  constexpr std::string_view kTens[] = {"LXXX", "XXX", "LXX", "XX", "XL", "LX", "X", "L", ""};
  constexpr std::string_view kOnes[] = {"VIII", "III", "VII", "II", "IV", "VI", "IX", "I", "V", ""};
  for (std::string_view tens : kTens) {
    if (!run.starts_with(tens)) continue;
    const std::string_view rest = run.substr(tens.size());
    return std::find(std::begin(kOnes), std::end(kOnes), rest) != std::end(kOnes);
  }
  return false;
}

bool is_capital_name(std::string_view run) {
  const bool are_capitals = std::all_of(run.begin(), run.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return are_capitals && (run.size() > 2 || is_roman(run));
}

}  // namespace cohort::answers
