#include "libs/answers/internal/grammar.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool is_integer_text(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Compares digits of any length.
bool is_less(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_integer_token(const Token& token) {
  return token.kind == TokenKind::kNumber && is_integer_text(token.text);
}

}  // namespace

NodeId Grammar::primary() {
  if (++nesting_ > Tree::kMaxDepth) throw TreeLimit{};
  NodeId result = 0;
  switch (peek().kind) {
    case TokenKind::kNumber:
      result = number();
      break;
    case TokenKind::kSymbol:
      result = symbol();
      break;
    case TokenKind::kFunction:
      result = call();
      break;
    case TokenKind::kStructure:
      result = structure();
      break;
    case TokenKind::kText:
      result = words();
      break;
    case TokenKind::kPunctuation:
      result = punctuation();
      break;
    case TokenKind::kEnd:
      fail("a value is missing");
  }
  --nesting_;
  return result;
}

NodeId Grammar::punctuation() {
  if (is("(") || is("[") || is("]")) {
    // (101)_2: digits in brackets with their base.
    const bool is_based = is("(") && is_integer_token(peek(1)) && is(")", 2) && is("_", 3);
    if (!is_based) return bracketed();
    const std::string digits = peek(1).text;
    position_ += 3;
    return based(digits);
  }
  if (is("\\{")) return set_braces();
  if (is("{")) return brace_group();
  if (is("|")) return absolute_value();
  fail("a value is missing");
}

// The digits of an argument of \frac at `offset`, which moves behind it.
std::optional<std::string> Grammar::digit_argument(size_t& offset) const {
  const bool has_braces = is("{", offset);
  const Token& token = peek(offset + has_braces);
  if (!is_integer_token(token) || (has_braces && !is("}", offset + 2))) return std::nullopt;
  offset += has_braces ? 3 : 1;
  return token.text;
}

// Does a fraction below 1 of two plain integers follow, which makes 3\frac12 a mixed number?
bool Grammar::mixed_fraction_follows() const {
  if (is("frac")) {
    size_t offset = 1;
    const bool has_braces = is("{", 1);
    const std::optional<std::string> first = digit_argument(offset);
    if (!first) return false;
    if (!has_braces && first->size() > 1) return (*first)[0] < (*first)[1];
    const std::optional<std::string> second = digit_argument(offset);
    return second && is_less(*first, *second);
  }
  return is_integer_token(peek()) && peek().has_space && is("/", 1) && is_integer_token(peek(2)) &&
         is_less(peek().text, peek(2).text);
}

NodeId Grammar::number() {
  const std::string text = peek().text;
  if (text.size() > kMaxDigits) {
    throw ParseFailure{ParseFailure::Kind::kTooLarge, str("a number of more than ", kMaxDigits, " digits")};
  }
  ++position_;
  if (text.find('e') != std::string::npos) return scientific(text);
  if (const std::optional<NodeId> decimal = repeating(text)) return *decimal;
  if (is("_") || (peek().text == "base" && peek().kind == TokenKind::kText)) return based(text);
  const NodeId value = add(Kind::kNumber, text);
  if (!is_integer_text(text) || !mixed_fraction_follows()) return value;
  if (is("frac")) return add(Kind::kAdd, "", {value, structure()});
  const NodeId numerator = add(Kind::kNumber, peek().text);
  const NodeId denominator = add(Kind::kNumber, peek(2).text);
  position_ += 3;
  return add(Kind::kAdd, "", {value, add(Kind::kDivide, "", {numerator, denominator})});
}

NodeId Grammar::brace_group() {
  expect("{");
  const Scope scope(*this, false);
  const NodeId content = list();
  NodeId result = content;
  if (consume("choose")) result = add(Kind::kCall, "binomial", {content, list()});
  if (consume("over")) result = add(Kind::kDivide, "", {content, list()});
  expect("}");
  if (!tree_.is(result, Kind::kList, ",")) return result;
  return add(Kind::kSet, "", tree_[result].children);
}

// ( ) and [ ] and their mixtures, ] [ too: a group of one value, else a tuple or an interval.
NodeId Grammar::bracketed() {
  const std::string open = peek().text;
  ++position_;
  const Scope scope(*this, false);
  std::vector<NodeId> items = {relation()};
  while (consume(",") || consume(";")) {
    is_after_comma_ = true;
    items.push_back(relation());
  }
  const std::string close = peek().text;
  const bool is_closed = is(")") || is("]") || (is("[") && open != "(");
  if (!is_closed) fail("a bracket is not closed");
  ++position_;
  if (items.size() > 1) {
    return add(Kind::kTuple, str(open == "[" ? "[" : "(", close == "]" ? "]" : ")"), std::move(items));
  }
  if (open + close != "()" && open + close != "[]") fail("brackets do not match");
  return items[0];
}

NodeId Grammar::set_braces() {
  expect("\\{");
  if (consume("\\}")) return add(Kind::kSymbol, "empty set");
  const Scope scope(*this, true);
  std::vector<NodeId> items = {relation()};
  if (consume("mid") || consume("|") || consume(":")) {
    is_in_set_ = false;
    const NodeId condition = list();
    expect("\\}");
    return set_builder(items[0], condition);
  }
  size_t gap = 0;
  while (consume(",") || consume(";")) {
    if (gap == 0 && consume("ldots")) {
      gap = items.size();
    } else {
      items.push_back(relation());
    }
  }
  expect("\\}");
  if (gap > 0) fill_range(items, gap);
  return add(Kind::kSet, "", std::move(items));
}

NodeId Grammar::absolute_value() {
  expect("|");
  ++num_open_bars_;
  const NodeId content = sum();
  --num_open_bars_;
  expect("|");
  return add(Kind::kCall, "abs", {content});
}

// \sin, with an exponent and a base before the argument.
NodeId Grammar::call() {
  const std::string name = peek().text;
  ++position_;
  std::optional<NodeId> base, exponent_node;
  while (is("_") || is("^")) {
    std::optional<NodeId>& target = is("_") ? base : exponent_node;
    const bool is_base = is("_");
    ++position_;
    target = is_base ? tex_argument() : exponent();
  }
  std::vector<NodeId> arguments = {call_argument()};
  if (base && name != "log") fail("a subscript of a function");
  if (base) arguments.push_back(*base);
  if (name == "exp") return add(Kind::kPower, "", {add(Kind::kSymbol, "e"), arguments[0]});
  if (name == "lg") arguments.push_back(add(Kind::kNumber, "10"));
  const bool has_inverse = (name.size() == 3 && name != "log" && name != "abs") || name == "sinh" ||
                           name == "cosh" || name == "tanh";
  const bool is_inverse = has_inverse && exponent_node && tree_.is(*exponent_node, Kind::kNegate) &&
                          tree_.is(tree_.child(*exponent_node, 0), Kind::kNumber, "1");
  const NodeId value = add(Kind::kCall, is_inverse ? "arc" + name : name == "lg" ? "log" : name, arguments);
  return exponent_node && !is_inverse ? add(Kind::kPower, "", {value, *exponent_node}) : value;
}

// In brackets, or else the product up to the next sign or function.
NodeId Grammar::call_argument() {
  if (is("{")) return brace_group();
  if (is("(") || is("[")) {
    const NodeId argument = bracketed();
    if (tree_.is(argument, Kind::kTuple)) fail("a function of several values");
    return argument;
  }
  const bool is_negative = consume("-");
  std::vector<NodeId> factors = {power()};
  while (starts_operand() && peek().kind != TokenKind::kFunction) factors.push_back(power());
  const NodeId argument = join(Kind::kMultiply, std::move(factors));
  return is_negative ? add(Kind::kNegate, "", {argument}) : argument;
}

}  // namespace cohort::answers
