// Numbers with units, times, dates, ratios.
#include <algorithm>

#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/grammar.h"
#include "libs/answers/internal/nouns.h"
#include "libs/answers/internal/number_names.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool is_digits(const Token& token, size_t min_length, size_t max_length) {
  return token.kind == TokenKind::kNumber && token.text.size() >= min_length &&
         token.text.size() <= max_length && token.text.find_first_not_of("0123456789") == std::string::npos;
}

// One base to the power 1, as metres and hours are.
bool is_simple(const Unit& unit) { return unit.dimension.size() == 1; }

bool is_smaller(const Unit& unit, const Unit& other) {
  return is_simple(unit) && unit.dimension == other.dimension && unit.factor < other.factor;
}

std::string full_unit_name(const std::string& text) {
  if (text == "degrees" || text == "deg") return "degree";
  if (text == "degrees Celsius" || text == "degrees celsius" || text == "degrees C") return "degree C";
  if (text == "degrees Fahrenheit" || text == "degrees fahrenheit" || text == "degrees F") return "degree F";
  return text;
}

bool is_foreign(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// The half of the day that a word behind `hour` names: am, pm, or nothing for "o'clock".
std::optional<std::string> half_of_day(int hour, const Token& token) {
  if (token.kind != TokenKind::kText) return std::nullopt;
  std::string word = lower_case(token.text);
  if (word == "am" || word == "pm") return word;
  if (hour == 12 && (word == "noon" || word == "midnight")) return word == "noon" ? "pm" : "am";
  return word == "o'clock" ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace

// Nothing that a value could go on with.
bool Grammar::ends_value(size_t offset) const {
  const Token& token = peek(offset);
  if (token.kind == TokenKind::kEnd) return true;
  for (std::string_view sign : {".", ",", ";", ")", "]", "}", "\\}", "=", "and", "or", "approx"}) {
    if (is(sign, offset)) return true;
  }
  return false;
}

// a : b, also of three parts and more; 3:30 is a time too.
NodeId Grammar::ratio() {
  if (const std::optional<NodeId> time = time_of_day()) return *time;
  if (const std::optional<NodeId> date = calendar_date()) return *date;
  std::vector<NodeId> parts = {product()};
  while (!is_in_set_ && consume(":")) parts.push_back(product());
  if (parts.size() == 1) return parts[0];
  const Kind kind = parts.size() == 2 ? Kind::kDivide : Kind::kRatio;
  return add(kind, "", std::move(parts));
}

// 3:30, 3:30:15, 3:30 pm and 3 pm.
std::optional<NodeId> Grammar::time_of_day() {
  const auto is_minutes = [this](size_t offset) {
    return is_digits(peek(offset), 2, 2) && peek(offset).text < "60";
  };
  if (is_in_set_ || !is_digits(peek(), 1, 2)) return std::nullopt;
  const int hour = std::stoi(peek().text);
  const bool has_minutes = is(":", 1) && is_minutes(2),
             has_seconds = has_minutes && is(":", 3) && is_minutes(4);
  size_t length = has_seconds ? 5 : has_minutes ? 3 : 1;
  const std::optional<std::string> half = half_of_day(hour, peek(length));
  length += half.has_value();
  const bool is_time = has_minutes ? hour <= 24 : half && hour >= 1 && hour <= 12;
  if (!is_time || !ends_value(length)) return std::nullopt;
  std::vector<NodeId> parts = {add(Kind::kNumber, peek().text),
                               add(Kind::kNumber, has_minutes ? peek(2).text : "00")};
  if (has_seconds) parts.push_back(add(Kind::kNumber, peek(4).text));
  const std::string name = half && !half->empty() ? "time " + *half : "time";
  position_ += length;
  return add(has_seconds ? Kind::kRatio : Kind::kDivide, name, std::move(parts));
}

// 6/12/2020.
std::optional<NodeId> Grammar::calendar_date() {
  const bool has_parts = is_digits(peek(), 1, 4) && is("/", 1) && is_digits(peek(2), 1, 2) && is("/", 3) &&
                         is_digits(peek(4), 1, 4) && (peek().text.size() == 4 || peek(4).text.size() == 4);
  if (!has_parts || !ends_value(5)) return std::nullopt;
  const NodeId first = add(Kind::kNumber, peek().text), second = add(Kind::kNumber, peek(2).text);
  const NodeId third = add(Kind::kNumber, peek(4).text);
  position_ += 5;
  return add(Kind::kDivide, "date", {add(Kind::kDivide, "", {first, second}), third});
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

// `value` with the words behind it, and with further numbers that have words: 3 hours 20 minutes.
NodeId Grammar::measured_sum(NodeId value) {
  // The sign before a sum is that of all of it.
  if (tree_.is(value, Kind::kNegate)) return add(Kind::kNegate, "", {measured_sum(tree_.child(value, 0))});
  const bool is_chance = peek().text == "in" || peek().text == "out of";
  if (is_chance && is_digits(peek(1), 1, 20) && ends_value(2)) {  // 1 in 6
    ++position_;
    return add(Kind::kDivide, "", {value, number()});
  }
  std::vector<NodeId> terms = {measured(value)};
  while (true) {
    const bool has_number = peek().kind == TokenKind::kNumber;
    const bool has_and = is("and") && peek(1).kind == TokenKind::kNumber &&
                         peek(2).kind == TokenKind::kText && is_next_smaller(terms.back(), peek(2).text);
    if (!has_number && !has_and) return join(Kind::kAdd, std::move(terms));
    position_ += has_and;
    const NodeId next = number();
    if (peek().kind != TokenKind::kText || !is_next_smaller(terms.back(), peek().text))
      fail("measures that do not add up");
    terms.push_back(measured(next));
  }
}

// Does `name` measure the same as the unit at the end of `term`, in smaller pieces?
bool Grammar::is_next_smaller(NodeId term, const std::string& name) const {
  const Node& node = tree_[term];
  if (node.kind != Kind::kMultiply || !tree_.is(node.children.back(), Kind::kUnit)) return false;
  return is_unit_name(name) && is_smaller(find_unit(name), find_unit(tree_[node.children.back()].text));
}

// 18 (eighteen): does the rest name the number again? Fails where it is another one.
bool Grammar::take_number_name(NodeId value) {
  const size_t begin = is("{") ? 1 : 0;
  if (!is("(", begin)) return false;
  std::string name;
  size_t offset = begin + 1;
  for (; peek(offset).kind == TokenKind::kText || is("-", offset) || is("and", offset); ++offset)
    if (!is("-", offset)) name += str(name.empty() ? "" : " ", lower_case(peek(offset).text));
  const bool is_closed = is(")", offset) && (begin == 0 || is("}", offset + 1));
  const std::optional<int64_t> again = read_number_name(name);
  if (!is_closed || !again || !ends_value(offset + 1 + begin)) return false;
  const ExactValue number = evaluate_exactly(tree_, value);
  if (!number.is_ok() || !(number.value == Fraction(*again))) fail("two values that differ");
  position_ += offset + 1 + begin;
  return true;
}

// May a unit that no table knows end here?
bool Grammar::ends_measure() const {
  const bool is_rate = is("/") && peek(1).kind == TokenKind::kText && is_unit_name(peek(1).text);
  return ends_value(0) || is_rate || is(":") || is("&") || is("\\") || peek().text.starts_with("end ");
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
    constexpr std::string_view kAnd = " and";
    if (text == "hours and" || text == "hour and" || text == "feet and")
      text.resize(text.size() - kAnd.size());
  }
  const auto first_word = [&text] { return std::string_view(text).substr(0, text.find(' ')); };
  while (const auto number = find_number_word(first_word())) {
    value = add(Kind::kMultiply, "", {value, add(Kind::kNumber, std::string(*number))});
    text = trim(std::string_view(text).substr(first_word().size()));
  }
  if (text.empty()) return value;
  if (text == "per mille") return add(Kind::kDivide, "", {value, add(Kind::kNumber, "1000")});
  if (text == "percent" || text == "per cent") {
    return percent(value);
  }
  if (const auto part = find_part_word(text); part && !starts_operand())
    return add(Kind::kDivide, "", {value, add(Kind::kNumber, std::string(*part))});
  bool may_be_new = follows_number && ends_measure();
  if (may_be_new && !is_unit_name(text)) text = without_remark(text);
  if (text.empty()) return value;
  if (is_foreign(text) &&
      !is_unit_name(text)) {  // 12个, 12 Stück: what is counted, in words that nobody translates
    if (!may_be_new || !may_be_counted_abroad(text)) fail("words");
    return value;
  }
  may_be_new = may_be_new && !is_arithmetic_word(first_word());
  const bool is_unit = is_unit_name(text) || (may_be_new && may_be_counted(text));
  if (text.size() > kMaxUnitBytes || !is_unit) fail("words");
  return add(Kind::kMultiply, "", {value, raised(add(Kind::kUnit, full_unit_name(text)))});
}

// 30^\circ 15' 20'': the minutes and seconds behind the degrees.
NodeId Grammar::with_minutes(NodeId degrees) {
  std::vector<NodeId> terms = {degrees};
  for (const char* name : {"arcminute", "arcsecond"}) {
    const size_t num_primes = name[3] == 'm' ? 1 : 2;
    bool has_primes = peek().kind == TokenKind::kNumber;
    for (size_t i = 1; i <= num_primes; ++i) has_primes = has_primes && is("'", i);
    if (!has_primes || is("'", num_primes + 1)) continue;
    const NodeId amount = plain_number();
    position_ += num_primes;
    terms.push_back(add(Kind::kMultiply, "", {amount, add(Kind::kUnit, name)}));
  }
  return join(Kind::kAdd, std::move(terms));
}

// The sign of a currency, before or behind its amount.
NodeId Grammar::currency(std::string_view name) {
  const std::string unit = name == "$"        ? "dollar"
                           : name == "pounds" ? "pound sterling"
                           : name == "rupees" ? "rupee"
                                              : std::string(name);
  const NodeId node = add(Kind::kUnit, unit);
  if (is("-") && peek(1).kind == TokenKind::kNumber) return add(Kind::kMultiply, "", {node, unary()});
  return starts_operand() ? add(Kind::kMultiply, "", {node, power()}) : node;
}

}  // namespace cohort::answers
