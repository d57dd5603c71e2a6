#include <algorithm>

#include "libs/answers/internal/fraction.h"
#include "libs/answers/internal/grammar.h"
#include "libs/answers/internal/symbols.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

// The digits that the end of `decimals` repeats: 3 of 1333, 42 of 4242. Empty where nothing repeats.
std::string repeated_end(std::string_view decimals) {
  constexpr size_t kMaxPeriod = 6;
  for (size_t period = 1; period <= kMaxPeriod; ++period) {
    const size_t num_times = period == 1 ? 3 : 2;
    if (decimals.size() < period * num_times) continue;
    const std::string_view last = decimals.substr(decimals.size() - period);
    bool repeats = true;
    for (size_t i = 1; i <= num_times; ++i)
      repeats = repeats && decimals.substr(decimals.size() - i * period, period) == last;
    if (repeats) return std::string(last);
  }
  return {};
}

}  // namespace

NodeId Grammar::structure() {
  const std::string name = peek().text;
  ++position_;
  if (name == "frac") return fraction();
  if (name == "sqrt") return square_root();
  if (name == "binom") return binomial();
  if (name == "lfloor") return rounded("floor", "rfloor");
  if (name == "lceil") return rounded("ceil", "rceil");
  if (name == "overline" || name == "bar" || name == "vec" || name == "hat" || name == "tilde" ||
      name == "dot")
    return accented(name);
  if (name == "angle" || name == "triangle") return angle(name);
  if (name == "ldots" || name == "pmod")
    throw ParseFailure{ParseFailure::Kind::kUnsupported, str("\\", name, " is beyond this verifier here")};
  if (name == "mathbb") return number_set();
  if (is_currency(name)) return currency(name);
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
  if (token.text[0] == '.') fail("a digit is missing");
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
  if (const std::optional<NodeId> name = derivative()) return *name;
  const NodeId numerator = tex_argument();
  return add(Kind::kDivide, "", {numerator, tex_argument()});
}

NodeId Grammar::binomial() {
  const NodeId top = tex_argument();
  return add(Kind::kCall, "binomial", {top, tex_argument()});
}

NodeId Grammar::square_root() {
  const auto radicand = [this] {
    if (is("{")) return brace_group();
    return peek().kind == TokenKind::kNumber ? plain_number() : primary();
  };
  if (!consume("[")) return add(Kind::kCall, "sqrt", {radicand()});
  const NodeId degree = sum();
  expect("]");
  return add(Kind::kCall, "root", {radicand(), degree});
}

NodeId Grammar::rounded(std::string_view name, std::string_view close) {
  const NodeId content = sum();
  expect(close);
  return add(Kind::kCall, std::string(name), {content});
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

// 0.1\overline{6}, 0.1\bar6, 0.1(6) and 0.166...; nothing for a decimal that ends.
std::optional<NodeId> Grammar::repeating(const std::string& text) {
  constexpr size_t kMaxBytes = 900;
  const size_t point = text.find('.');
  if (point == std::string::npos) return std::nullopt;
  std::string fixed = text, digits;
  if (is("overline") || is("bar") || is("dot")) {
    ++position_;
    if (is("{")) {
      digits = take_group_text();
    } else if (peek().text.size() == 1) {
      digits = peek().text;
      ++position_;
    }
  } else if (is("(") && !peek().has_space && peek(1).kind == TokenKind::kNumber && is(")", 2)) {
    digits = peek(1).text;
    position_ += 3;
  } else if (is("ldots") || (is(".") && is(".", 1))) {
    while (consume(".") || consume("ldots")) continue;
    digits = repeated_end(std::string_view(text).substr(point + 1));
    if (digits.empty())
      throw ParseFailure{ParseFailure::Kind::kUnsupported, "dots behind digits that do not repeat"};
    fixed.resize(text.size() - digits.size());
  } else {
    return std::nullopt;
  }
  if (digits.empty() || digits.size() + text.size() > kMaxBytes ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    fail("repeating digits are missing");
  }
  return add(Kind::kNumber, str(fixed, "(", digits, ")"));
}

// 1011_2 and 1011 base 2.
NodeId Grammar::based(const std::string& digits) {
  if (is("_")) return in_base(digits, subscript().substr(1));
  ++position_;
  if (peek().kind != TokenKind::kNumber && peek().kind != TokenKind::kText) fail("a base is missing");
  const std::string base = peek().text;
  ++position_;
  return in_base(digits, base);
}

NodeId Grammar::in_base(const std::string& digits, const std::string& base) {
  constexpr std::string_view kNames[] = {"two",   "three", "four", "five", "six",
                                         "seven", "eight", "nine", "ten"};
  int value = 0;
  for (int i = 2; i <= 10; ++i) {
    if (base == std::to_string(i) || base == kNames[i - 2]) value = i;
  }
  if (value == 0) fail("a base between 2 and 10 is missing");
  for (char digit : digits) {
    if (digit < '0' || digit >= '0' + value) fail("a digit does not fit its base");
  }
  return add(Kind::kNumber, to_decimal_digits(digits, value));
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

// Takes ％, ‰ or ‱: what it divides by; empty for other tokens.
std::string Grammar::parts_of_one() {
  if (consume("hundredth")) return "100";
  if (consume("permille")) return "1000";
  return consume("permyriad") ? "10000" : "";
}

// A hundredth that remembers its sign, which the other answer may leave out.
NodeId Grammar::percent(NodeId value) {
  return add(Kind::kDivide, "percent", {value, add(Kind::kNumber, "100")});
}

NodeId Grammar::negated(NodeId value) {
  if (tree_.is(value, Kind::kDivide, "percent")) return percent(negated(tree_.child(value, 0)));
  if (!tree_.is(value, Kind::kMatrix)) return add(Kind::kNegate, "", {value});
  std::vector<NodeId> rows;
  for (NodeId row : std::vector<NodeId>(tree_[value].children)) {
    std::vector<NodeId> cells;
    for (NodeId cell : std::vector<NodeId>(tree_[row].children))
      cells.push_back(add(Kind::kNegate, "", {cell}));
    rows.push_back(add(Kind::kTuple, "row", std::move(cells)));
  }
  return add(Kind::kMatrix, "", std::move(rows));
}

// The sum of the terms; of matrices alone, the matrix of the sums.
NodeId Grammar::summed(std::vector<NodeId> terms) {
  const auto is_matrix = [this](NodeId id) { return tree_.is(id, Kind::kMatrix); };
  if (terms.size() < 2 || !std::all_of(terms.begin(), terms.end(), is_matrix))
    return join(Kind::kAdd, std::move(terms));
  const auto shape = [this](NodeId matrix) {
    std::vector<size_t> widths;
    for (NodeId row : tree_[matrix].children) widths.push_back(tree_[row].children.size());
    return widths;
  };
  const std::vector<size_t> widths = shape(terms[0]);
  for (NodeId term : terms) {
    if (shape(term) != widths) fail("a sum of matrices of different sizes");
  }
  std::vector<NodeId> rows;
  for (size_t row = 0; row < widths.size(); ++row) {
    std::vector<NodeId> cells;
    for (size_t column = 0; column < widths[row]; ++column) {
      std::vector<NodeId> parts;
      parts.reserve(terms.size());
      for (NodeId term : terms) parts.push_back(tree_.child(tree_.child(term, row), column));
      cells.push_back(add(Kind::kAdd, "", std::move(parts)));
    }
    rows.push_back(add(Kind::kTuple, "row", std::move(cells)));
  }
  return add(Kind::kMatrix, "", std::move(rows));
}

bool Grammar::has_matrix(NodeId id) const {
  const std::vector<NodeId>& children = tree_[id].children;
  return tree_.is(id, Kind::kMatrix) ||
         std::any_of(children.begin(), children.end(), [this](NodeId child) { return has_matrix(child); });
}

// The product of the factors; numbers before a matrix go into its cells.
NodeId Grammar::scaled_matrix(std::vector<NodeId> factors) {
  const auto is_matrix = [this](NodeId id) { return tree_.is(id, Kind::kMatrix); };
  if (factors.size() < 2 || std::count_if(factors.begin(), factors.end(), is_matrix) != 1)
    return join(Kind::kMultiply, std::move(factors));
  const auto place = std::find_if(factors.begin(), factors.end(), is_matrix);
  const NodeId matrix = *place;
  factors.erase(place);
  const NodeId scale = join(Kind::kMultiply, std::move(factors));
  // It stands in every cell, so it must be small.
  constexpr int32_t kMaxScaleDepth = 6;
  if (tree_.is(scale, Kind::kTuple) || tree_[scale].depth > kMaxScaleDepth || has_matrix(scale))
    fail("a matrix times more than a number");
  std::vector<NodeId> rows;
  for (NodeId row : std::vector<NodeId>(tree_[matrix].children)) {
    std::vector<NodeId> cells;
    for (NodeId cell : std::vector<NodeId>(tree_[row].children))
      cells.push_back(add(Kind::kMultiply, "", {scale, cell}));
    rows.push_back(add(Kind::kTuple, "row", std::move(cells)));
  }
  return add(Kind::kMatrix, "", std::move(rows));
}

}  // namespace cohort::answers
