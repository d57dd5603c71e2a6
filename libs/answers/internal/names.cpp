// Letters and words that name something: variables, functions, points, angles, sets.
#include <algorithm>
#include <cctype>

#include "libs/answers/internal/grammar.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool is_capital(const Token& token) {
  return token.kind == TokenKind::kSymbol && token.text.size() == 1 && token.text[0] >= 'A' &&
         token.text[0] <= 'Z';
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

NodeId Grammar::symbol() {
  if (may_be_function(tokens_, position_) && factors_.count(peek().text) == 0) return function_value();
  if (const std::optional<std::string> name = probability()) return add(Kind::kSymbol, *name);
  std::string name = peek().text;
  ++position_;
  if (is("_")) name += subscript();
  if (const std::optional<NodeId> value = combinations(name)) return *value;
  // x_{1,2} names both roots of x.
  if (name.ends_with("_1,2")) name.resize(name.size() - 4);
  while (consume("'")) name += "'";
  return add(Kind::kSymbol, name);
}

// C_8^3.
std::optional<NodeId> Grammar::combinations(const std::string& name) {
  if (!name.starts_with("C_") || !is_digits(name.substr(2)) || !is("^")) return std::nullopt;
  const bool has_braces = is("{", 1);
  const Token& chosen = peek(1 + has_braces);
  if (chosen.kind != TokenKind::kNumber || !is_digits(chosen.text) || (has_braces && !is("}", 3)))
    return std::nullopt;
  if (std::stoi(chosen.text) >= std::stoi(name.substr(2))) return std::nullopt;
  const NodeId top = add(Kind::kNumber, name.substr(2)), bottom = add(Kind::kNumber, chosen.text);
  position_ += has_braces ? 4 : 2;
  return add(Kind::kCall, "binomial", {top, bottom});
}

// f(x), f'(2), g^{-1}(x, y): a function of which nothing is known.
NodeId Grammar::function_value() {
  std::string name = peek().text;
  ++position_;
  while (consume("'")) name += "'";
  if (consume("^")) {
    name += "^" + take_group_text();
  }
  expect("(");
  const Scope scope(*this, false);
  std::vector<NodeId> arguments = {relation()};
  while (consume(",") || consume(";")) arguments.push_back(relation());
  expect(")");
  return add(Kind::kCall, name, std::move(arguments));
}

// P(X > 2), P(A | B): a name as it is written.
std::optional<std::string> Grammar::probability() {
  constexpr size_t kMaxTokensOfName = 24;
  if (peek().text != "P" || !is("(", 1)) return std::nullopt;
  std::string name = "P";
  bool has_event = false;
  int depth = 0;
  for (size_t offset = 1; offset < kMaxTokensOfName && peek(offset).kind != TokenKind::kEnd; ++offset) {
    const std::string& text = peek(offset).text;
    name += text;
    depth += is("(", offset);
    depth -= is(")", offset);
    for (std::string_view sign : {"<", ">", "<=", ">=", "=", "|", "mid", "cap", "cup", "in"})
      has_event = has_event || is(sign, offset);
    if (depth > 0) continue;
    if (!has_event) return std::nullopt;
    position_ += offset + 1;
    return name;
  }
  return std::nullopt;
}

// A(1, 2): the point A.
std::optional<NodeId> Grammar::named_point() {
  constexpr size_t kMaxTokensOfPoint = 60;
  if (!is_capital(peek()) || !is("(", 1)) return std::nullopt;
  int depth = 0;
  bool has_comma = false;
  for (size_t offset = 1; offset < kMaxTokensOfPoint && peek(offset).kind != TokenKind::kEnd; ++offset) {
    depth += is("(", offset) || is("{", offset);
    depth -= is(")", offset) || is("}", offset);
    has_comma = has_comma || (depth == 1 && is(",", offset));
    if (depth > 0) continue;
    if (!has_comma || !ends_value(offset + 1) || is("=", offset + 1)) return std::nullopt;
    const NodeId name = add(Kind::kSymbol, peek().text);
    ++position_;
    return add(Kind::kRelation, "=", {name, bracketed()});
  }
  return std::nullopt;
}

// Words where a value is due: a unit, a letter in a text font, or a word alone that names a value.
NodeId Grammar::words() {
  constexpr size_t kMaxBytes = 40;
  const std::string text = peek().text;
  const std::string_view before = position_ == 0 ? "" : std::string_view(tokens_[position_ - 1].text);
  const bool is_first = position_ == 0 || before == "(" || before == "," || before == "and" ||
                        before == "or" || before == "=" || before == ";";
  if (text.size() == 1 && is("_", 1) && std::isalpha(static_cast<unsigned char>(text[0]))) {
    ++position_;  // \mathrm{C}_5^2
    const std::string name = text + subscript();
    const std::optional<NodeId> value = combinations(name);
    return value ? *value : add(Kind::kSymbol, name);
  }
  const bool is_unit = is_unit_name(text) && !(is_first && text.size() == 1);
  if (is_unit || text.size() == 1) {
    ++position_;
    return add(is_unit ? Kind::kUnit : Kind::kSymbol, text);
  }
  const bool is_name = (text.find(' ') == std::string::npos && ends_value(1)) || is("=", 1) || is("_", 1);
  if (!is_name || !(is_first || before == "{") || text.size() > kMaxBytes) fail("words");
  ++position_;
  const bool are_points = text.size() == 2 && std::isupper(static_cast<unsigned char>(text[0])) &&
                          std::isupper(static_cast<unsigned char>(text[1])) && !is_roman(text);
  if (are_points)
    return add(Kind::kMultiply, "",
               {add(Kind::kSymbol, text.substr(0, 1)), add(Kind::kSymbol, text.substr(1))});
  std::string name = is_capital_name(text) ? text : lower_case(text);
  if (is("_")) name += subscript();
  return add(Kind::kSymbol, name);
}

// \angle ABC, \triangle A B C: a name of its own.
NodeId Grammar::angle(std::string_view kind) {
  std::string name(kind);
  if (peek().kind != TokenKind::kSymbol) fail("a letter is missing");
  name += " " + peek().text;
  ++position_;
  while (is_capital(peek()) && is_capital(tokens_[position_ - 1])) {
    name += peek().text;
    ++position_;
  }
  if (is("_")) name += subscript();
  return add(Kind::kSymbol, name);
}

// The text of the tokens of a group at `offset`, which moves behind it; empty where none is there.
std::string Grammar::group_text(size_t& offset) const {
  constexpr size_t kMaxTokensOfName = 12;
  if (!is("{", offset)) return {};
  std::string text;
  int depth = 0;
  const size_t end = offset + kMaxTokensOfName;
  for (size_t i = offset; i < end && peek(i).kind != TokenKind::kEnd; ++i) {
    depth += is("{", i);
    depth -= is("}", i);
    if (!is("{", i) && !is("}", i)) text += peek(i).text;
    if (depth > 0) continue;
    offset = i + 1;
    return text;
  }
  return {};
}

// \frac{dy}{dx} and \frac{d^2y}{dx^2}, which are no quotients.
std::optional<NodeId> Grammar::derivative() {
  size_t offset = 0;
  std::string top = group_text(offset);
  const std::string bottom = top.empty() ? "" : group_text(offset);
  const size_t order = bottom.find('^');
  const std::string power = order == std::string::npos ? "" : bottom.substr(order);
  const bool is_derivative = bottom.size() >= 2 + power.size() && bottom[0] == 'd' && top.size() >= 2 &&
                             top[0] == 'd' && top.substr(1, power.size()) == power &&
                             top.size() == 2 + power.size();
  const bool are_letters = is_derivative && std::isalpha(static_cast<unsigned char>(top.back())) &&
                           std::isalpha(static_cast<unsigned char>(bottom[1]));
  if (!are_letters || bottom.size() != 2 + power.size()) return std::nullopt;
  position_ += offset;
  return add(Kind::kSymbol, str(top, "/", bottom));
}

// The tokens of a group in braces as one text.
std::string Grammar::take_group_text() {
  expect("{");
  std::string text;
  for (int depth = 1; depth > 0; ++position_) {
    if (peek().kind == TokenKind::kEnd) fail("a brace is not closed");
    depth += is("{");
    depth -= is("}");
    if (depth > 0) text += peek().text;
  }
  return text;
}

// \overline{AB}, \vec v: a name of its own.
NodeId Grammar::accented(std::string_view accent) {
  if (is("{")) {
    const std::string text = take_group_text();
    // Over one letter both lines mean the same.
    const bool is_bar = accent == "overline" && text.size() == 1;
    return add(Kind::kSymbol, str(is_bar ? "bar" : accent, " ", text));
  }
  if (peek().kind != TokenKind::kSymbol) fail("a letter is missing");
  const std::string letter = peek().text;
  ++position_;
  const bool is_bar = accent == "overline" && letter.size() == 1;
  return add(Kind::kSymbol, str(is_bar ? "bar" : accent, " ", letter));
}

NodeId Grammar::number_set() {
  std::string letter;
  if (is("{")) {
    letter = take_group_text();
  } else {
    letter = peek().text;
    if (peek().kind != TokenKind::kSymbol) fail("a letter is missing");
    ++position_;
  }
  return add(Kind::kSymbol, letter == "R" ? "reals" : "mathbb " + letter);
}

// Behind "in", a plain Z is the integers.
NodeId Grammar::set_of_numbers(NodeId set) {
  if (!tree_.is(set, Kind::kSymbol)) return set;
  const std::string letter = tree_[set].text;
  if (letter == "R") return add(Kind::kSymbol, "reals");
  return letter == "Z" || letter == "N" || letter == "Q" ? add(Kind::kSymbol, "mathbb " + letter) : set;
}

std::string Grammar::subscript() {
  expect("_");
  if (is("{")) return "_" + take_group_text();
  if (peek().kind == TokenKind::kEnd || peek().kind == TokenKind::kPunctuation)
    fail("a subscript is missing");
  const std::string text = "_" + peek().text;
  ++position_;
  return text;
}

// The name in a definition such as f(x) = ..., f'(x) = ... or f^{-1}(x) = ..., empty where there is none.
std::string Grammar::definition_name() {
  constexpr size_t kMaxTokensOfName = 12;
  if (peek().kind != TokenKind::kSymbol) return {};
  size_t open = 1;
  while (is("'", open)) ++open;
  if (is("^", open) && is("{", open + 1) && is("-", open + 2) && is("}", open + 4)) open += 5;
  if (!is("(", open)) return {};
  size_t length = open + 1;
  while (length < kMaxTokensOfName && (peek(length).kind == TokenKind::kSymbol || is(",", length))) ++length;
  if (length == open + 1 || !is(")", length) || !(is("=", length + 1) || is("approx", length + 1))) return {};
  std::string name;
  for (size_t i = 0; i <= length; ++i) name += peek(i).text;
  position_ += length + 1;
  return name;
}

}  // namespace cohort::answers
