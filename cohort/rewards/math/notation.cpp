#include "cohort/core/str.h"
#include "cohort/rewards/math/fraction.h"
#include "cohort/rewards/math/grammar.h"

namespace cohort::math {

NodeId Grammar::structure() {
  const std::string name = peek().text;
  ++position_;
  if (name == "frac") return fraction();
  if (name == "sqrt") return square_root();
  if (name == "binom") return binomial();
  if (name == "lfloor") return rounded("floor", "rfloor");
  if (name == "lceil") return rounded("ceil", "rceil");
  if (name == "overline" || name == "bar" || name == "vec" || name == "hat" || name == "tilde")
    return accented(name);
  if (name == "mathbb") return number_set();
  if (name == "$" || name == "euro" || name == "pounds" || name == "yen") return currency(name);
  if (name.substr(0, 6) == "begin ") return matrix();
  --position_;
  fail("a value is missing");
}

// What TeX takes as an argument: a group, or one digit of a number, or one value.
NodeId Grammar::tex_argument() {
  if (is("{")) return brace_group();
  Token& token = tokens_[position_];
  if (token.kind != TokenKind::kNumber) return primary();
  if (token.text.size() == 1) return plain_number();
  const NodeId digit = add(Kind::kNumber, token.text.substr(0, 1));
  token.text.erase(0, 1);
  return digit;
}

// A number that no fraction behind it makes a mixed one.
NodeId Grammar::plain_number() {
  const bool is_plain = peek().text.size() <= kMaxDigits && peek().text.find('e') == std::string::npos;
  if (!is_plain) return number();
  const NodeId value = add(Kind::kNumber, peek().text);
  ++position_;
  return value;
}

NodeId Grammar::fraction() {
  const NodeId numerator = tex_argument();
  return add(Kind::kDivide, "", {numerator, tex_argument()});
}

NodeId Grammar::binomial() {
  const NodeId top = tex_argument();
  return add(Kind::kCall, "binomial", {top, tex_argument()});
}

NodeId Grammar::square_root() {
  if (!consume("[")) return add(Kind::kCall, "sqrt", {is("{") ? brace_group() : primary()});
  const NodeId degree = sum();
  expect("]");
  return add(Kind::kCall, "root", {is("{") ? brace_group() : primary(), degree});
}

NodeId Grammar::rounded(std::string_view name, std::string_view close) {
  const NodeId content = sum();
  expect(close);
  return add(Kind::kCall, std::string(name), {content});
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
  if (is("{")) return add(Kind::kSymbol, str(accent, " ", take_group_text()));
  if (peek().kind != TokenKind::kSymbol) fail("a letter is missing");
  const std::string letter = peek().text;
  ++position_;
  return add(Kind::kSymbol, str(accent, " ", letter));
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

std::string Grammar::subscript() {
  expect("_");
  if (is("{")) return "_" + take_group_text();
  if (peek().kind == TokenKind::kEnd || peek().kind == TokenKind::kPunctuation)
    fail("a subscript is missing");
  const std::string text = "_" + peek().text;
  ++position_;
  return text;
}

// The name in a definition such as f(x) = ..., empty where there is none.
std::string Grammar::definition_name() {
  constexpr size_t kMaxTokensOfName = 12;
  if (peek().kind != TokenKind::kSymbol || !is("(", 1)) return {};
  size_t length = 2;
  while (length < kMaxTokensOfName && (peek(length).kind == TokenKind::kSymbol || is(",", length))) ++length;
  if (length == 2 || !is(")", length) || !is("=", length + 1)) return {};
  std::string name;
  for (size_t i = 0; i <= length; ++i) name += peek(i).text;
  position_ += length + 1;
  return name;
}

// Digits, e and an exponent of any size.
NodeId Grammar::scientific(const std::string& text) {
  const size_t e = text.find('e');
  std::string exponent_digits = text.substr(e + 1);
  const bool is_negative = exponent_digits[0] == '-';
  if (is_negative || exponent_digits[0] == '+') exponent_digits.erase(0, 1);
  NodeId exponent_node = add(Kind::kNumber, exponent_digits);
  if (is_negative) exponent_node = add(Kind::kNegate, "", {exponent_node});
  const NodeId scale = add(Kind::kPower, "", {add(Kind::kNumber, "10"), exponent_node});
  return add(Kind::kMultiply, "", {add(Kind::kNumber, text.substr(0, e)), scale});
}

// 0.1\overline{6}.
NodeId Grammar::repeating(const std::string& text) {
  expect("overline");
  const std::string digits = take_group_text();
  if (digits.empty() || digits.size() + text.size() > 900 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    fail("repeating digits are missing");
  }
  return add(Kind::kNumber, str(text, "(", digits, ")"));
}

// 1011_2.
NodeId Grammar::based(const std::string& digits) {
  const std::string base = subscript().substr(1);
  const bool is_base = base == "10" || (base.size() == 1 && base[0] >= '2' && base[0] <= '9');
  if (!is_base) fail("a base between 2 and 10 is missing");
  const char limit = base == "10" ? '9' : static_cast<char>(base[0] - 1);
  for (char digit : digits) {
    if (digit < '0' || digit > limit) fail("a digit does not fit its base");
  }
  return add(Kind::kNumber, to_decimal_digits(digits, base == "10" ? 10 : base[0] - '0'));
}

NodeId Grammar::matrix() {
  const std::string name = tokens_[position_ - 1].text.substr(6);
  if (name != "pmatrix" && name != "bmatrix" && name != "matrix" && name != "smallmatrix" &&
      name != "array") {
    throw ParseFailure{ParseFailure::Kind::kUnsupported, str("\\begin{", name, "} is beyond this verifier")};
  }
  if (name == "array" && is("{")) take_group_text();
  const Scope scope(*this, false);
  std::vector<NodeId> rows;
  while (!is("end " + name)) {
    std::vector<NodeId> cells = {relation()};
    while (consume("&")) cells.push_back(relation());
    rows.push_back(add(Kind::kTuple, "row", std::move(cells)));
    if (!consume("\\")) break;
  }
  expect("end " + name);
  if (rows.empty()) fail("a matrix is empty");
  return add(Kind::kMatrix, "", std::move(rows));
}

}  // namespace cohort::math
