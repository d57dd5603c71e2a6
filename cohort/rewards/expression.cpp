#include "cohort/rewards/expression.h"

#include "libs/common/str.h"

namespace cohort {
namespace {

using Status = ExpressionValue::Status;

// Recursive descent: sum = product {(+|-) product}; product = factor {(*|/) factor}; factor = - factor |
// (sum) | digits. After a failure of arithmetic it reads on, so that all numbers are known; after one of
// syntax it stops.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ExpressionValue parse() {
    result_.value = sum();
    peek();
    if (!is_stopped() && position_ < text_.size())
      stop(Status::kMalformed, str("unexpected text at byte ", position_));
    return std::move(result_);
  }

 private:
  static constexpr int kMaxDepth = 200;
  static constexpr size_t kMaxDigits = 18;

  bool is_stopped() const {
    return result_.status == Status::kMalformed || result_.status == Status::kTooDeep;
  }

  void stop(Status status, std::string detail) {
    if (is_stopped()) return;
    result_.status = status;
    result_.detail = std::move(detail);
  }

  // The next character that is no white space; 0 at the end.
  char peek() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool consume(char expected) {
    if (is_stopped() || peek() != expected) return false;
    ++position_;
    return true;
  }

  Rational calculate(char op, const Rational& left, const Rational& right) {
    if (result_.status != Status::kOk) return {};
    std::optional<Rational> value = apply_operator(op, left, right);
    if (value) return *value;
    bool is_by_zero = op == '/' && right.numerator == 0;
    result_.status = is_by_zero ? Status::kDividesByZero : Status::kTooLarge;
    result_.detail = is_by_zero ? "division by zero" : "a result needs more than 128 bits";
    return {};
  }

  Rational sum() {
    Rational value = product();
    while (true) {
      if (consume('+')) {
        value = calculate('+', value, product());
      } else if (consume('-')) {
        value = calculate('-', value, product());
      } else {
        return value;
      }
    }
  }

  Rational product() {
    Rational value = factor();
    while (true) {
      if (consume('*')) {
        value = calculate('*', value, factor());
      } else if (consume('/')) {
        value = calculate('/', value, factor());
      } else {
        return value;
      }
    }
  }

  Rational factor() {
    if (is_stopped()) return {};
    if (depth_ == kMaxDepth) {
      stop(Status::kTooDeep, str("more than ", kMaxDepth, " nested parentheses or signs"));
      return {};
    }
    ++depth_;
    Rational value;
    if (consume('-')) {
      value = calculate('-', Rational{}, factor());
    } else if (consume('(')) {
      value = sum();
      if (!consume(')')) stop(Status::kMalformed, "a parenthesis is not closed");
    } else {
      value = number();
    }
    --depth_;
    return value;
  }

  Rational number() {
    peek();
    size_t begin = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') ++position_;
    size_t num_digits = position_ - begin;
    if (num_digits == 0 || num_digits > kMaxDigits) {
      stop(Status::kMalformed, num_digits == 0 ? str("a number is missing at byte ", begin)
                                               : str("a number of more than ", kMaxDigits, " digits"));
      return {};
    }
    int64_t value = std::stoll(std::string(text_.substr(begin, num_digits)));
    result_.numbers.push_back(value);
    return {value, 1};
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  ExpressionValue result_;
};

}  // namespace

ExpressionValue evaluate_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace cohort
