#include "libs/answers/internal/grammar.h"

#include <algorithm>

#include "libs/answers/internal/exact.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

using FailureKind = ParseFailure::Kind;

constexpr char kRounded = '~';

// The letter that a kRelation stores for an operator; 0 for other tokens.
char relation_letter(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return '\0';
  if (token.text == "=" || token.text == "<" || token.text == ">") return token.text[0];
  if (token.text == "<=") return 'l';
  if (token.text == ">=") return 'g';
  if (token.text == "approx") return kRounded;
  return token.text == "!=" ? 'n' : '\0';
}

bool is_constant(const Tree& tree, NodeId id) {
  if (tree.is(id, Kind::kSymbol)) {
    const std::string& name = tree[id].text;
    return name == "pi" || name == "e" || name == "i";
  }
  if (tree.is(id, Kind::kCall) && is_unknown_function(tree[id].text)) return false;
  const std::vector<NodeId>& children = tree[id].children;
  return std::all_of(children.begin(), children.end(),
                     [&](NodeId child) { return is_constant(tree, child); });
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

Grammar::Grammar(std::vector<Token> tokens, const Names& variables, const Names& factors)
    : tokens_(std::move(tokens)), factors_(factors) {
  std::vector<size_t> units;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (may_be_unit_letter(tokens_, i) && variables.count(tokens_[i].text) == 0) units.push_back(i);
  }
  for (size_t i : units) tokens_[i].kind = TokenKind::kText;
  // 2\mathrm{m}+3 beside 2m+3, but not the unit of V = 20\text{ V}.
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (may_be_variable(tokens_, i) && variables.count(tokens_[i].text) > 0)
      tokens_[i].kind = TokenKind::kSymbol;
  }
}

Expression Grammar::parse_all() {
  while (peek().text == "=" || peek().text == "approx") {
    if (peek(1).kind == TokenKind::kEnd) break;
    ++position_;
  }
  const NodeId root = list();
  consume(".");
  if (peek().kind != TokenKind::kEnd) fail("unexpected text");
  return {std::move(tree_), root};
}

NodeId Grammar::relation() {
  if (const std::optional<NodeId> point = named_point()) return *point;
  const std::string name = definition_name();
  std::vector<NodeId> operands = {name.empty() ? sets() : add(Kind::kSymbol, name)};
  if (consume("in")) return add(Kind::kMember, "", {operands[0], set_of_numbers(sets())});
  if (consume("equiv")) return congruence(operands[0], sets());
  std::string letters;
  while (const char letter = relation_letter(peek())) {
    ++position_;
    letters += letter;
    operands.push_back(sets());
  }
  if (letters == "=" && is("pmod")) return congruence(operands[0], operands[1]);
  if (is("pmod")) throw ParseFailure{FailureKind::kUnsupported, "\\pmod is beyond this verifier here"};
  return exact_part(std::move(letters), std::move(operands));
}

// x \equiv 2 \pmod 5.
NodeId Grammar::congruence(NodeId left, NodeId right) {
  if (!consume("pmod")) fail("a modulus is missing");
  return add(Kind::kRelation, "m", {left, right, is("{") ? brace_group() : primary()});
}

// A relation without what is only rounded: of 2/3 = 0.66... approx 0.667 the first sides, of x approx 0.667
// both.
NodeId Grammar::exact_part(std::string letters, std::vector<NodeId> operands) {
  if (!letters.empty() && letters[0] == kRounded && !is_constant(tree_, operands[0])) letters[0] = '=';
  const size_t rounded = letters.find(kRounded);
  if (rounded != std::string::npos) {
    letters.resize(rounded);
    operands.resize(rounded + 1);
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
  std::vector<NodeId> terms = {ratio()};
  while (true) {
    // Of a set, a minus takes another one away.
    const bool is_set = terms.size() == 1 && tree_.is(terms[0], Kind::kSymbol, "reals");
    if (consume("+")) {
      terms.push_back(ratio());
    } else if (consume("-")) {
      const NodeId term = ratio();
      if (is_set) {
        terms[0] = add(Kind::kDifference, "", {terms[0], term});
      } else {
        terms.push_back(negated(term));
      }
    } else if (is("+-") || is("-+")) {
      const std::string sign = peek().text.substr(0, 1);
      ++position_;
      const NodeId left = summed(std::move(terms));
      terms = {add(Kind::kPlusMinus, sign, {left, ratio()})};
    } else {
      return summed(std::move(terms));
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
      return token.text != "choose" && token.text != "over" && token.text != "pmod" && token.text != "\\" &&
             token.text != "rfloor" && token.text != "rceil" && token.text.substr(0, 4) != "end ";
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
    if (is("*") || is("times")) {
      const bool is_cross = is("times");
      ++position_;
      const NodeId right = unary();
      if (is_cross && is_vector(factors.back()) && is_vector(right)) {
        factors = {add(Kind::kCall, "cross", {join(Kind::kMultiply, std::move(factors)), right})};
      } else {
        factors.push_back(right);
      }
    } else if (consume("/")) {
      const NodeId left = join(Kind::kMultiply, std::move(factors));
      factors = {divisor(left)};
    } else if (peek().kind == TokenKind::kText) {
      const NodeId left = join(Kind::kMultiply, std::move(factors));
      factors = {measured_sum(left)};
    } else if (is_restatement()) {
      factors = {restated(join(Kind::kMultiply, std::move(factors)))};
    } else if (factors.size() == 1 && take_number_name(factors[0])) {
      continue;
    } else if (starts_operand() && !is_condition_in_brackets()) {
      factors.push_back(power());
    } else {
      return scaled_matrix(std::move(factors));
    }
  }
}

// Of two vectors the sign \times makes another product than \cdot.
bool Grammar::is_vector(NodeId id) const {
  return tree_.is(id, Kind::kSymbol) && tree_[id].text.starts_with("vec ");
}

// Does the rest say the value again in brackets, as (50%) behind 1/2?
bool Grammar::is_restatement() const {
  constexpr size_t kMaxTokensOfValue = 12;
  if (!is("(")) return false;
  for (size_t offset = 1; offset < kMaxTokensOfValue; ++offset) {
    if (is(")", offset)) return is("%", offset - 1) && ends_value(offset + 1);
    if (is("(", offset)) return false;
  }
  return false;
}

// `value`, where what is said again in brackets agrees.
NodeId Grammar::restated(NodeId value) {
  const NodeId again = bracketed();
  const ExactValue first = evaluate_exactly(tree_, value), second = evaluate_exactly(tree_, again);
  if (!first.is_ok() || !second.is_ok() || !(first.value == second.value)) fail("two values that differ");
  return value;
}

NodeId Grammar::unary() {
  if (++nesting_ > Tree::kMaxDepth) throw TreeLimit{};
  NodeId result;
  if (consume("-")) {
    result = negated(unary());
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

// The raised letters of 5^{th}.
bool Grammar::take_ordinal() {
  if (!is("^")) return false;
  const size_t place = is("{", 1) ? 2 : 1;
  const std::string& text = peek(place).text;
  const bool is_ending = text == "th" || text == "st" || text == "nd" || text == "rd";
  if (peek(place).kind != TokenKind::kText || !is_ending || (place == 2 && !is("}", 3))) return false;
  position_ += place == 2 ? 4 : 2;
  return true;
}

// `base` with what stands behind it: exponents, factorials, percent and degree signs.
NodeId Grammar::raised(NodeId base) {
  while (true) {
    if (take_ordinal()) {
      continue;
    } else if (take_degree_sign()) {
      const bool has_scale = peek().text == "C" || peek().text == "F";
      const std::string unit = has_scale ? "degree " + peek().text : "degree";
      position_ += has_scale;
      base = add(Kind::kMultiply, "", {base, add(Kind::kUnit, unit)});
      if (!has_scale) base = with_minutes(base);
    } else if (consume("^")) {
      base = add(Kind::kPower, "", {base, exponent()});
    } else if (consume("!")) {
      base = add(Kind::kCall, consume("!") ? "double factorial" : "factorial", {base});
      if (is("!")) throw ParseFailure{FailureKind::kUnsupported, "!!! is beyond this verifier"};
    } else if (consume("%")) {
      base = percent(base);
    } else if (const std::string parts = parts_of_one(); !parts.empty()) {
      base = add(Kind::kDivide, "", {base, add(Kind::kNumber, parts)});
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

Names variables_of(std::string_view text) {
  if (text.size() > kMaxAnswerBytes) return {};
  try {
    return find_variables(tokenize(text));
  } catch (const ParseFailure&) {
    return {};
  }
}

std::optional<Expression> parse(std::string_view text, ParseFailure& failure, const Names& others) {
  try {
    if (text.size() > kMaxAnswerBytes) {
      throw ParseFailure{FailureKind::kTooLarge, str("more than ", kMaxAnswerBytes, " bytes")};
    }
    std::vector<Token> tokens = tokenize(text);
    Names variables = find_variables(tokens);
    // h may be a height; f and g are functions unless their own text makes variables of them.
    Names factors = variables;
    if (others.count("h") > 0) factors.insert("h");
    variables.insert(others.begin(), others.end());
    return Grammar(std::move(tokens), variables, factors).parse_all();
  } catch (const TreeLimit&) {
    failure = {FailureKind::kTooLarge,
               str("deeper than ", Tree::kMaxDepth, " or more than ", Tree::kMaxNodes, " nodes")};
  } catch (const ParseFailure& thrown) {
    failure = thrown;
  }
  return std::nullopt;
}

}  // namespace cohort::answers
