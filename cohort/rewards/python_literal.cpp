#include "cohort/rewards/python_literal.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace cohort {
namespace {

using Kind = TypedValue::Kind;

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int num_more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLeads[num_more] | code >> 6 * num_more);
  for (int i = num_more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
}

std::string to_hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Recursive descent; `is_good_` turns false at the first thing that is no literal, and then all is over.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<TypedValue> parse_all() {
    TypedValue value = parse_value();
    skip_space();
    if (take(',')) value = parse_bare_tuple(std::move(value));
    if (!is_good_ || !rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  TypedValue fail() {
    is_good_ = false;
    rest_ = {};
    return {};
  }

  void skip_space() {
    while (!rest_.empty() && (isspace(static_cast<unsigned char>(rest_[0])) != 0)) rest_.remove_prefix(1);
  }

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    if (rest_.size() > word.size() && is_word(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  TypedValue parse_value() {
    if (++depth_ > kMaxTypedDepth) return fail();
    TypedValue value = parse_inner();
    --depth_;
    return value;
  }

  TypedValue parse_inner() {
    skip_space();
    if (rest_.empty()) return fail();
    if (take_word("None")) return {};
    if (take_word("True")) return TypedValue::of_bool(true);
    if (take_word("False")) return TypedValue::of_bool(false);
    if (take_word("float")) return parse_float_call();
    if (take_word("set") || take_word("frozenset")) return parse_set_call();
    if (take_word("list")) return parse_sequence_call(Kind::kList, false);
    if (take_word("tuple")) return parse_sequence_call(Kind::kTuple, false);
    if (take_word("sorted")) return parse_sequence_call(Kind::kList, true);
    if (take('[')) return parse_items(Kind::kList, ']');
    if (take('(')) return parse_parentheses();
    if (take('{')) return parse_braces();
    if (rest_[0] == '-' || rest_[0] == '+') return parse_signed();
    if (rest_[0] == '.' || isdigit(static_cast<unsigned char>(rest_[0])) != 0) return parse_number();
    return parse_strings();
  }

  TypedValue parse_bare_tuple(TypedValue first) {
    TypedValue tuple = rest_.empty() ? TypedValue{.kind = Kind::kTuple} : parse_items(Kind::kTuple, '\0');
    tuple.items.insert(tuple.items.begin(), std::move(first));
    return tuple;
  }

  // Up to `close`, or to the end of the text.
  TypedValue parse_items(Kind kind, char close) {
    TypedValue value{.kind = kind};
    const auto is_closed = [&] {
      skip_space();
      return close == '\0' ? rest_.empty() : take(close);
    };
    while (is_good_ && !is_closed()) {
      value.items.push_back(parse_value());
      skip_space();
      if (!take(',')) return is_closed() ? value : fail();
    }
    return value;
  }

  TypedValue parse_parentheses() {
    if (take(')')) return {.kind = Kind::kTuple};
    TypedValue first = parse_value();
    if (take(')')) return first;
    if (!take(',')) return fail();
    TypedValue tuple = parse_items(Kind::kTuple, ')');
    tuple.items.insert(tuple.items.begin(), std::move(first));
    return tuple;
  }

  TypedValue parse_braces() {
    TypedValue value{.kind = Kind::kDict};
    if (take('}')) return value;
    bool is_first = true;
    while (is_good_ && !take('}')) {
      value.items.push_back(parse_value());
      if (is_first && !take(':')) {
        value.kind = Kind::kSet;
      } else if (value.kind == Kind::kDict) {
        if (!is_first && !take(':')) return fail();
        value.items.push_back(parse_value());
      }
      is_first = false;
      if (!take(',')) return take('}') ? normalise(value) : fail();
    }
    return normalise(value);
  }

  // A set written with a member twice holds it once; such literals are refused instead.
  TypedValue normalise(TypedValue value) {
    const size_t step = value.kind == Kind::kDict ? 2 : 1;
    if (value.items.size() > 2000) return value;
    for (size_t i = 0; i < value.items.size(); i += step) {
      for (size_t j = i + step; j < value.items.size(); j += step) {
        if (is_equal(value.items[i], value.items[j], Tolerance::none())) return fail();
      }
    }
    return value;
  }

  TypedValue parse_float_call() {
    if (!take('(')) return fail();
    const TypedValue text = parse_value();
    if (!is_good_ || text.kind != Kind::kString || !take(')')) return fail();
    char* end = nullptr;
    const double number = strtod(text.text.c_str(), &end);
    return end == text.text.c_str() || *end != '\0' ? fail() : TypedValue::of_float(number);
  }

  TypedValue parse_set_call() {
    if (!take('(')) return fail();
    if (take(')')) return {.kind = Kind::kSet};
    TypedValue value = parse_value();
    const bool has_items =
        value.kind == Kind::kSet || value.kind == Kind::kList || value.kind == Kind::kTuple;
    if (!is_good_ || !has_items || !take(')')) return fail();
    value.kind = Kind::kSet;
    return normalise(value);
  }

  // Of a list or a tuple; sorted where all are texts or all are numbers.
  TypedValue parse_sequence_call(Kind kind, bool is_sorted) {
    if (!take('(')) return fail();
    if (!is_sorted && take(')')) return {.kind = kind};
    TypedValue value = parse_value();
    const bool has_items = value.kind == Kind::kList || value.kind == Kind::kTuple;
    if (!is_good_ || !has_items || !take(')')) return fail();
    value.kind = kind;
    return is_sorted && !sort_items(value) ? fail() : value;
  }

  TypedValue parse_signed() {
    const bool is_negative = rest_[0] == '-';
    rest_.remove_prefix(1);
    TypedValue value = parse_value();
    if (value.kind != Kind::kInt && value.kind != Kind::kFloat) return fail();
    if (!is_negative) return value;
    value.number = -value.number;
    if (value.kind == Kind::kInt && value.text != "0") {
      value.text = value.text.starts_with("-") ? value.text.substr(1) : "-" + value.text;
    }
    return value;
  }

  TypedValue parse_number() {
    std::string text;
    const bool has_base =
        rest_.size() > 1 && rest_[0] == '0' && isalpha(static_cast<unsigned char>(rest_[1])) != 0;
    while (!rest_.empty()) {
      const char c = rest_[0];
      const bool is_exponent_sign =
          (c == '-' || c == '+') && !has_base && !text.empty() && (text.back() == 'e' || text.back() == 'E');
      if (!is_word(c) && c != '.' && !is_exponent_sign) break;
      const bool is_separator = c == '_';
      if (is_separator && (rest_.size() < 2 || isalnum(static_cast<unsigned char>(rest_[1])) == 0))
        return fail();
      if (!is_separator) text += c;
      rest_.remove_prefix(1);
    }
    return has_base ? parse_based(text) : parse_decimal(text);
  }

  TypedValue parse_based(const std::string& text) {
    const char letter = static_cast<char>(tolower(static_cast<unsigned char>(text[1])));
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    constexpr size_t kMaxDigits = 63;
    if (base == 0 || text.size() < 3 || text.size() > kMaxDigits) return fail();
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = strtoull(text.c_str() + 2, &end, base);
    return errno != 0 || *end != '\0' ? fail() : TypedValue::of_int(std::to_string(number));
  }

  TypedValue parse_decimal(const std::string& text) {
    if (text.find_first_not_of("0123456789") == std::string::npos) {
      const size_t first = text.find_first_not_of('0');
      if (first == std::string::npos) return TypedValue::of_int("0");
      return first > 0 ? fail() : TypedValue::of_int(text);
    }
    char* end = nullptr;
    const double number = strtod(text.c_str(), &end);
    if (text.find_first_not_of("0123456789.eE+-") != std::string::npos || *end != '\0') return fail();
    return TypedValue::of_float(number);
  }

  // Neighbouring strings are one.
  TypedValue parse_strings() {
    TypedValue whole{.kind = Kind::kNone};
    do {
      const TypedValue part = parse_string();
      if (!is_good_ || (whole.kind != Kind::kNone && whole.kind != part.kind)) return fail();
      whole.kind = part.kind;
      whole.text += part.text;
      skip_space();
    } while (!rest_.empty() && std::string_view("'\"rRbBuU").find(rest_[0]) != std::string_view::npos);
    if (whole.kind == Kind::kBytes) whole.text = to_hex(whole.text);
    return whole;
  }

  TypedValue parse_string() {
    bool is_raw = false, is_bytes = false;
    while (!rest_.empty() && std::string_view("rRbBuU").find(rest_[0]) != std::string_view::npos) {
      is_raw |= rest_[0] == 'r' || rest_[0] == 'R';
      is_bytes |= rest_[0] == 'b' || rest_[0] == 'B';
      rest_.remove_prefix(1);
    }
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return fail();
    std::string quote(1, rest_[0]);
    if (rest_.starts_with(quote + quote + quote)) quote += quote + quote;
    rest_.remove_prefix(quote.size());
    TypedValue value{.kind = is_bytes ? Kind::kBytes : Kind::kString};
    while (!rest_.starts_with(quote)) {
      if (rest_.empty() || (rest_[0] == '\n' && quote.size() == 1)) return fail();
      if (rest_[0] == '\\') {
        if (!take_escape(value.text, is_raw, is_bytes)) return fail();
      } else {
        value.text += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    rest_.remove_prefix(quote.size());
    return value;
  }

  bool take_escape(std::string& text, bool is_raw, bool is_bytes) {
    if (rest_.size() < 2) return false;
    const char letter = rest_[1];
    if (is_raw) {
      text += rest_.substr(0, 2);
      rest_.remove_prefix(2);
      return true;
    }
    rest_.remove_prefix(2);
    constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const size_t index = kLetters.find(letter);
    if (index != std::string_view::npos) {
      text += kMeanings[index];
      return true;
    }
    if (letter == '\n') return true;
    if (letter >= '0' && letter <= '7') return take_code(text, 8, 3, is_bytes, letter - '0');
    if (letter == 'x') return take_code(text, 16, 2, is_bytes, 0);
    if (letter == 'u' && !is_bytes) return take_code(text, 16, 4, false, 0);
    if (letter == 'U' && !is_bytes) return take_code(text, 16, 8, false, 0);
    return false;
  }

  // The digits of an escape: up to two more octal ones, or all `num_digits` hexadecimal ones.
  bool take_code(std::string& text, int base, int num_digits, bool is_byte, uint32_t code) {
    int num_left = base == 8 ? num_digits - 1 : num_digits;
    for (; num_left > 0 && !rest_.empty(); --num_left) {
      const std::string_view digits = "0123456789abcdef";
      const size_t digit = digits.find(static_cast<char>(tolower(static_cast<unsigned char>(rest_[0]))));
      if (digit >= static_cast<size_t>(base)) break;
      code = code * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
      rest_.remove_prefix(1);
    }
    if ((base == 16 && num_left > 0) || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    if (is_byte) {
      text += static_cast<char>(code);
    } else {
      append_utf8(text, code);
    }
    return true;
  }

  std::string_view rest_;
  int depth_ = 0;
  bool is_good_ = true;
};

}  // namespace

std::optional<TypedValue> parse_python_literal(std::string_view text) { return Parser(text).parse_all(); }

}  // namespace cohort
