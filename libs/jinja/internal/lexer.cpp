#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "libs/common/check.h"
#include "libs/common/str.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/token.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

/// Line ends become \n; one at the end of the source goes.
std::string normalized(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n';
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (pos_ < source_.size()) read_data();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw TemplateError(str("line ", line_, ": ", message));
  }
  char at(size_t pos) const { return pos < source_.size() ? source_[pos] : '\0'; }
  bool looking_at(std::string_view text, size_t pos) const {
    return std::string_view(source_).substr(std::min(pos, source_.size())).starts_with(text);
  }
  size_t skip_space(size_t pos) const {
    while (pos < source_.size()) {
      size_t next = pos;
      if (!is_space(next_code_point(source_, next))) break;
      pos = next;
    }
    return pos;
  }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  /// Moves to `end`, counting lines and noting whether what was passed ends a line.
  void advance(size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + pos_, source_.begin() + end, '\n'));
    if (end > pos_) line_starting_ = source_[end - 1] == '\n';
    pos_ = end;
  }

  /// The data before a tag, without the space that `sign` or lstrip_blocks takes from its end.
  std::string_view data_before(size_t tag, char sign, bool lstrip) const {
    const std::string_view text = std::string_view(source_).substr(pos_, tag - pos_);
    if (sign == '-') return strip(text, Sides::kRight);
    if (sign == '+' || !lstrip) return text;
    const size_t line_end = text.rfind('\n');
    const size_t start = line_end == kNone ? 0 : line_end + 1;
    if (start == 0 && !line_starting_) return text;
    return strip(text.substr(start), Sides::kBoth).empty() ? text.substr(0, start) : text;
  }

  char sign_at(size_t pos) const { return at(pos) == '-' || at(pos) == '+' ? at(pos) : '\0'; }

  void read_data() {
    size_t tag = source_.find('{', pos_);
    while (tag != kNone && at(tag + 1) != '%' && at(tag + 1) != '{' && at(tag + 1) != '#')
      tag = source_.find('{', tag + 1);
    if (tag == kNone) {
      add(TokenKind::kData, source_.substr(pos_));
      return advance(source_.size());
    }
    const char kind = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    const std::string_view data = data_before(tag, sign, kind != '{');
    if (!data.empty()) add(TokenKind::kData, std::string(data));
    const size_t raw = kind == '%' ? raw_begin_end(tag) : kNone;
    advance(raw != kNone ? raw : tag + 2 + (sign != '\0'));
    if (raw != kNone) return read_raw();
    if (kind == '#') return read_comment();
    read_tag(kind == '{');
  }

  /// Where the "{% raw %}" at `tag` ends; kNone for another tag.
  size_t raw_begin_end(size_t tag) const {
    size_t pos = skip_space(tag + 2 + (sign_at(tag + 2) != '\0'));
    if (!looking_at("raw", pos)) return kNone;
    pos = skip_space(pos + 3);
    if (looking_at("-%}", pos)) return skip_space(pos + 3);
    return looking_at("%}", pos) ? pos + 2 : kNone;
  }

  /// Where the end tag whose closing characters begin at `pos` ends, with the space that it takes; kNone when
  /// there is no closing.
  size_t closing_end(size_t pos, std::string_view closing) const {
    if (looking_at(closing, pos + 1) && at(pos) == '-') return skip_space(pos + 1 + closing.size());
    if (looking_at(closing, pos + 1) && at(pos) == '+') return pos + 1 + closing.size();
    if (!looking_at(closing, pos)) return kNone;
    const size_t end = pos + closing.size();
    return end + (at(end) == '\n');
  }

  void read_comment() {
    const size_t found = source_.find("#}", pos_);
    if (found == kNone) fail("Missing end of comment tag");
    const bool has_sign = found > pos_ && sign_at(found - 1) != '\0';
    advance(closing_end(found - has_sign, "#}"));
  }

  void read_raw() {
    for (size_t tag = source_.find("{%", pos_); tag != kNone; tag = source_.find("{%", tag + 2)) {
      const char sign = sign_at(tag + 2);
      size_t pos = skip_space(tag + 2 + (sign != '\0'));
      if (!looking_at("endraw", pos)) continue;
      pos = skip_space(pos + 6);
      const size_t end = closing_end(pos, "%}");
      if (end == kNone) continue;
      const std::string_view data = data_before(tag, sign, true);
      if (!data.empty()) add(TokenKind::kData, std::string(data));
      return advance(end);
    }
    fail("Missing end of raw directive");
  }

  void read_tag(bool variable) {
    add(variable ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    std::string open;  // brackets that wait for their partners
    while (pos_ < source_.size()) {
      if (open.empty() && read_tag_end(variable)) return;
      read_word(open);
    }
  }

  bool read_tag_end(bool variable) {
    size_t end = kNone;
    if (!variable) {
      end = closing_end(pos_, "%}");
    } else if (looking_at("-}}", pos_)) {
      end = skip_space(pos_ + 3);
    } else if (looking_at("}}", pos_)) {
      end = pos_ + 2;
    }
    if (end == kNone) return false;
    add(variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "");
    advance(end);
    return true;
  }

  void read_word(std::string& open) {
    if (const size_t end = skip_space(pos_); end != pos_) return advance(end);
    const char c = source_[pos_];
    if (is_digit_char(c)) return read_number();
    if (c == '"' || c == '\'') return read_text(c);
    if (const size_t end = name_end(); end != pos_) {
      add(TokenKind::kName, source_.substr(pos_, end - pos_));
      return advance(end);
    }
    read_operator(open);
  }

  size_t name_end() const {
    size_t end = pos_;
    while (end < source_.size()) {
      size_t next = end;
      const char32_t c = next_code_point(source_, next);
      if (c != '_' && !word_characters().contains(c)) break;
      end = next;
    }
    return end;
  }

  /// Digits of `base` with single underscores between them.
  size_t digits_end(size_t pos, int base) const {
    const auto is_one = [&](char c) {
      if (base == 16) return std::isxdigit(static_cast<unsigned char>(c)) != 0;
      return c >= '0' && c < '0' + base;
    };
    while (is_one(at(pos)) || (at(pos) == '_' && is_one(at(pos + 1)))) ++pos;
    return pos;
  }

  void read_number() {
    if (pos_ == 0 || source_[pos_ - 1] != '.') {
      if (const size_t end = float_end(); end != kNone) return add_float(end);
    }
    const char marker = static_cast<char>(std::tolower(static_cast<unsigned char>(at(pos_ + 1))));
    const int base = marker == 'b' ? 2 : marker == 'o' ? 8 : marker == 'x' ? 16 : 10;
    if (source_[pos_] == '0' && base != 10) {
      if (const size_t end = digits_end(pos_ + 2, base); end != pos_ + 2)
        return add_integer(pos_ + 2, end, base);
    }
    size_t end = pos_;
    if (source_[pos_] == '0') {
      while (at(end) == '0' || (at(end) == '_' && at(end + 1) == '0')) ++end;
    } else {
      end = digits_end(pos_, 10);
    }
    add_integer(pos_, end, 10);
  }

  size_t float_end() const {
    size_t end = digits_end(pos_, 10);
    bool real = false;
    if (at(end) == '.' && is_digit_char(at(end + 1))) {
      end = digits_end(end + 1, 10);
      real = true;
    }
    if (at(end) == 'e' || at(end) == 'E') {
      const size_t digits = end + 1 + (at(end + 1) == '+' || at(end + 1) == '-');
      if (is_digit_char(at(digits))) return digits_end(digits, 10);
    }
    return real ? end : kNone;
  }

  std::string without_underscores(size_t begin, size_t end) const {
    std::string digits = source_.substr(begin, end - begin);
    std::erase(digits, '_');
    return digits;
  }

  void add_float(size_t end) {
    add(TokenKind::kFloat, "");
    tokens_.back().real = std::strtod(without_underscores(pos_, end).c_str(), nullptr);
    advance(end);
  }

  void add_integer(size_t begin, size_t end, int base) {
    const std::string digits = without_underscores(begin, end);
    add(TokenKind::kInteger, digits);
    constexpr size_t kMaxDigits = 4300;  // Python's own limit
    if (digits.size() > kMaxDigits) fail("an integer of more than 4,300 digits is not supported");
    tokens_.back().integer = BigInteger::parse(digits, base);
    COHORT_CHECK(tokens_.back().integer, "The lexer cut an integer of other characters.");
    advance(end);
  }

  void read_text(char quote) {
    size_t end = pos_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail(str("unexpected char ", quote, ": a string has no end"));
    add(TokenKind::kText, unescape(std::string_view(source_).substr(pos_ + 1, end - pos_ - 1), line_));
    advance(end + 1);
  }

  void read_operator(std::string& open) {
    static constexpr std::string_view kPairs[] = {"**", "//", "==", "!=", ">=", "<="};
    const char c = source_[pos_];
    for (const std::string_view pair : kPairs) {
      if (!looking_at(pair, pos_)) continue;
      add(TokenKind::kOperator, std::string(pair));
      return advance(pos_ + 2);
    }
    if (c == '\0' || std::string_view("+-/*%~[](){}><=.:|,;").find(c) == kNone)
      fail(str("unexpected char ", in_quotes(std::string_view(source_).substr(
                                       pos_, byte_offset(std::string_view(source_).substr(pos_), 1)))));
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : static_cast<char>(c + 2);
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) fail(str("unexpected '", c, "'"));
      open.pop_back();
    }
    add(TokenKind::kOperator, std::string(1, c));
    advance(pos_ + 1);
  }

  std::string source_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace cohort::jinja
