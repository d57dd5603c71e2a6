#include "cohort/rewards/math/grammar.h"

#include "cohort/core/str.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/units.h"

namespace cohort::math {
namespace {

using FailureKind = ParseFailure::Kind;

// The letter that a kRelation stores for an operator; 0 for other tokens.
char relation_letter(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return '\0';
  if (token.text == "=" || token.text == "<" || token.text == ">") return token.text[0];
  if (token.text == "<=") return 'l';
  if (token.text == ">=") return 'g';
  return token.text == "!=" ? 'n' : '\0';
}

}  // namespace

void Grammar::fail(const std::string& reason) const {
  const Token& token = peek();
  const std::string place =
      token.kind == TokenKind::kEnd ? "at the end" : str("before ", excerpt(token.text));
  throw ParseFailure{FailureKind::kMalformed, str(reason, " ", place)};
}

void Grammar::expect(std::string_view text) {
  if (!consume(text)) fail(str(text, " is missing"));
}

Expression Grammar::parse_all() {
  const NodeId root = list();
  consume(".");
  if (peek().kind != TokenKind::kEnd) fail("unexpected text");
  return {std::move(tree_), root};
}

NodeId Grammar::list() {
  std::vector<NodeId> items = {relation()};
  std::string connector = ",";
  while (is(",") || is(";") || is("and") || is("or")) {
    while (is(",") || is(";") || is("and") || is("or")) {
      if (peek().text.size() > 1) connector = peek().text;
      ++position_;
    }
    items.push_back(relation());
  }
  return items.size() == 1 ? items[0] : add(Kind::kList, connector, std::move(items));
}

NodeId Grammar::relation() {
  const std::string name = definition_name();
  std::vector<NodeId> operands = {name.empty() ? sets() : add(Kind::kSymbol, name)};
  if (consume("in")) return add(Kind::kMember, "", {operands[0], sets()});
  std::string letters;
  while (const char letter = relation_letter(peek())) {
    ++position_;
    letters += letter;
    operands.push_back(sets());
  }
  return letters.empty() ? operands[0] : add(Kind::kRelation, letters, std::move(operands));
}

// A plain U between two brackets.
bool Grammar::is_union_letter() const {
  const Token& token = peek();
  if (token.kind != TokenKind::kSymbol || token.text != "U" || position_ == 0) return false;
  const std::string& before = tokens_[position_ - 1].text;
  const std::string& behind = peek(1).text;
  return (before == ")" || before == "]" || before == "\\}" || before == "[") &&
         (behind == "(" || behind == "[" || behind == "\\{" || behind == "]");
}

NodeId Grammar::sets() {
  NodeId left = sum();
  while (true) {
    if (is("cup") || is_union_letter()) {
      ++position_;
      left = add(Kind::kUnion, "", {left, sum()});
    } else if (consume("cap")) {
      left = add(Kind::kIntersection, "", {left, sum()});
    } else if (consume("setminus")) {
      left = add(Kind::kDifference, "", {left, sum()});
    } else {
      return left;
    }
  }
}

NodeId Grammar::sum() {
  std::vector<NodeId> terms = {product()};
  while (true) {
    if (consume("+")) {
      terms.push_back(product());
    } else if (consume("-")) {
      terms.push_back(add(Kind::kNegate, "", {product()}));
    } else if (is("+-") || is("-+")) {
      const std::string sign = peek().text.substr(0, 1);
      ++position_;
      const NodeId left = join(Kind::kAdd, std::move(terms));
      terms = {add(Kind::kPlusMinus, sign, {left, product()})};
    } else {
      return join(Kind::kAdd, std::move(terms));
    }
  }
}

bool Grammar::starts_operand() const {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::kEnd:
    case TokenKind::kText:
      return false;
    case TokenKind::kNumber:
      return position_ > 0 && tokens_[position_ - 1].kind != TokenKind::kNumber;
    case TokenKind::kSymbol:
      return !is_union_letter();
    case TokenKind::kFunction:
      return true;
    case TokenKind::kStructure:
      return token.text != "choose" && token.text != "over" && token.text != "\\" && token.text != "rfloor" &&
             token.text != "rceil" && token.text.substr(0, 4) != "end ";
    case TokenKind::kPunctuation:
      break;
  }
  if (token.text == "|") return num_open_bars_ == 0 && !is_in_set_;
  if (token.text == "[") return !is_after_comma_;
  return token.text == "(" || token.text == "{";
}

NodeId Grammar::product() {
  std::vector<NodeId> factors = {unary()};
  while (true) {
    if (consume("*")) {
      factors.push_back(unary());
    } else if (is("/") || (is(":") && !is_in_set_)) {
      ++position_;
      const NodeId left = join(Kind::kMultiply, std::move(factors));
      factors = {divisor(left)};
    } else if (peek().kind == TokenKind::kText) {
      const NodeId left = join(Kind::kMultiply, std::move(factors));
      factors = {measured(left)};
    } else if (starts_operand()) {
      factors.push_back(power());
    } else {
      return join(Kind::kMultiply, std::move(factors));
    }
  }
}

// What follows a slash. Behind a unit, a letter may be a unit too: km/h.
NodeId Grammar::divisor(NodeId left) {
  const bool is_unit = position_ >= 2 && tokens_[position_ - 2].kind == TokenKind::kText &&
                       peek().kind == TokenKind::kSymbol && is_unit_name(peek().text);
  if (!is_unit) return add(Kind::kDivide, "", {left, unary()});
  const NodeId unit = add(Kind::kUnit, peek().text);
  ++position_;
  return add(Kind::kDivide, "", {left, raised(unit)});
}

// `value` with the words behind it: 5 million square feet.
NodeId Grammar::measured(NodeId value) {
  constexpr size_t kMaxUnitBytes = 40;
  const Token& before = tokens_[position_ - 1];
  const bool follows_number = before.kind == TokenKind::kNumber || before.text == "}" || before.text == ")";
  std::string text;
  while (peek().kind == TokenKind::kText) {
    text += text.empty() ? "" : " ";
    text += peek().text;
    ++position_;
  }
  const auto first_word = [&text] { return std::string_view(text).substr(0, text.find(' ')); };
  while (const auto number = find_number_word(first_word())) {
    value = add(Kind::kMultiply, "", {value, add(Kind::kNumber, std::string(*number))});
    text = trim(std::string_view(text).substr(first_word().size()));
  }
  if (text.empty()) return value;
  if (text == "percent" || text == "per cent") {
    return add(Kind::kDivide, "", {value, add(Kind::kNumber, "100")});
  }
  const bool may_be_new = follows_number && !starts_operand() && !is_arithmetic_word(first_word());
  if (text.size() > kMaxUnitBytes || (!is_unit_name(text) && !may_be_new)) fail("words");
  if (text == "degrees") text = "degree";
  return add(Kind::kMultiply, "", {value, raised(add(Kind::kUnit, text))});
}

NodeId Grammar::unary() {
  if (++nesting_ > Tree::kMaxDepth) throw TreeLimit{};
  NodeId result;
  if (consume("-")) {
    result = add(Kind::kNegate, "", {unary()});
  } else if (consume("+")) {
    result = unary();
  } else if (is("+-") || is("-+")) {
    const std::string sign = peek().text.substr(0, 1);
    ++position_;
    result = add(Kind::kPlusMinus, sign, {add(Kind::kNumber, "0"), unary()});
  } else {
    result = power();
  }
  --nesting_;
  return result;
}

NodeId Grammar::power() { return raised(primary()); }

// ^\circ, ^{\circ} or the sign itself.
bool Grammar::take_degree_sign() {
  if (consume("degree")) return true;
  const bool is_in_braces = is("^") && is("{", 1) && is("degree", 2) && is("}", 3);
  if (!is_in_braces && !(is("^") && is("degree", 1))) return false;
  position_ += is_in_braces ? 4 : 2;
  return true;
}

// `base` with what stands behind it: exponents, factorials, percent and degree signs.
NodeId Grammar::raised(NodeId base) {
  while (true) {
    if (take_degree_sign()) {
      const bool has_scale = peek().text == "C" || peek().text == "F";
      const std::string unit = has_scale ? "degree " + peek().text : "degree";
      position_ += has_scale;
      base = add(Kind::kMultiply, "", {base, add(Kind::kUnit, unit)});
    } else if (consume("^")) {
      base = add(Kind::kPower, "", {base, exponent()});
    } else if (consume("!")) {
      base = add(Kind::kCall, "factorial", {base});
    } else if (consume("%")) {
      base = add(Kind::kDivide, "", {base, add(Kind::kNumber, "100")});
    } else {
      return base;
    }
  }
}

NodeId Grammar::exponent() {
  if (++nesting_ > Tree::kMaxDepth) throw TreeLimit{};
  NodeId result;
  if (is("{")) {
    result = brace_group();
  } else if (consume("-")) {
    result = add(Kind::kNegate, "", {exponent()});
  } else {
    consume("+");
    result = peek().kind == TokenKind::kNumber ? plain_number() : primary();
    if (consume("^")) result = add(Kind::kPower, "", {result, exponent()});
  }
  --nesting_;
  return result;
}

std::optional<Expression> parse(std::string_view text, ParseFailure& failure) {
  try {
    if (text.size() > kMaxAnswerBytes) {
      throw ParseFailure{FailureKind::kTooLarge, str("more than ", kMaxAnswerBytes, " bytes")};
    }
    return Grammar(tokenize(text)).parse_all();
  } catch (const TreeLimit&) {
    failure = {FailureKind::kTooLarge,
               str("deeper than ", Tree::kMaxDepth, " or more than ", Tree::kMaxNodes, " nodes")};
  } catch (const ParseFailure& thrown) {
    failure = thrown;
  }
  return std::nullopt;
}

}  // namespace cohort::math
