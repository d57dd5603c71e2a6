// Reads JSON text by recursive descent, into values that keep their numbers' digits.
#include <algorithm>

#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/json_schema/value.h"

namespace cohort::json_schema {
namespace {

struct Fault {
  size_t offset;
  std::string reason;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Value read_document() {
    Value value = read(1);
    skip_space();
    if (pos_ < text_.size()) fail("something follows the value");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string reason) const { throw Fault{pos_, std::move(reason)}; }

  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }

  bool take(char c) {
    if (peek() != c || pos_ == text_.size()) return false;
    ++pos_;
    return true;
  }

  void skip_space() {
    while (pos_ < text_.size() && std::string_view(" \t\r\n").find(text_[pos_]) != std::string_view::npos)
      ++pos_;
  }

  Value read(int depth) {
    if (depth > kMaxDepth) fail(str("nested deeper than ", kMaxDepth, " levels"));
    skip_space();
    if (pos_ == text_.size()) fail("the text ends where a value is due");
    const char c = peek();
    if (c == '{') return read_object(depth);
    if (c == '[') return read_array(depth);
    Value value;
    if (c == '"') {
      value.kind = Value::Kind::kString;
      value.text = read_string();
    } else if (c == '-' || is_digit(c)) {
      read_number(value);
    } else {
      read_literal(value);
    }
    return value;
  }

  void read_literal(Value& value) {
    for (const std::string_view word : {"null", "true", "false"}) {
      if (text_.substr(pos_, word.size()) != word) continue;
      pos_ += word.size();
      value.kind = word == "null" ? Value::Kind::kNull : Value::Kind::kBoolean;
      value.boolean = word == "true";
      return;
    }
    fail("no JSON value begins here");
  }

  void take_digits() {
    if (!is_digit(peek())) fail("a digit is missing");
    while (is_digit(peek())) ++pos_;
  }

  void read_number(Value& value) {
    const size_t begin = pos_;
    take('-');
    if (!take('0')) take_digits();
    if (take('.')) take_digits();
    if (take('e') || take('E')) {
      if (!take('-')) take('+');
      take_digits();
    }
    value.kind = Value::Kind::kNumber;
    value.text = text_.substr(begin, pos_ - begin);
    const std::optional<Decimal> number = read_decimal(value.text);
    if (!number) fail("a number is longer than the limits");
    value.number = *number;
  }

  uint32_t read_hex() {
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit(c) && (lower < 'a' || lower > 'f')) fail("\\u takes four hexadecimal digits");
      unit = unit * 16 + static_cast<uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
      ++pos_;
    }
    return unit;
  }

  char32_t read_unicode_escape() {
    const uint32_t unit = read_hex();
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    if (unit > 0xDBFF || !take('\\') || !take('u')) fail("a surrogate stands alone");
    const uint32_t low = read_hex();
    if (low < 0xDC00 || low > 0xDFFF) fail("a surrogate stands alone");
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }

  void read_escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      append_utf8(out, read_unicode_escape());
      return;
    }
    const size_t name = pos_ < text_.size() ? kNames.find(peek()) : std::string_view::npos;
    if (name == std::string_view::npos) fail("unknown escape");
    out += kMeanings[name];
    ++pos_;
  }

  std::string read_string() {
    std::string out;
    ++pos_;
    while (true) {
      if (pos_ == text_.size()) fail("a string does not end");
      const char c = text_[pos_];
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      ++pos_;
      if (c == '"') return out;
      if (c == '\\') {
        read_escape(out);
      } else {
        out += c;
      }
    }
  }

  Value read_array(int depth) {
    Value value;
    value.kind = Value::Kind::kArray;
    ++pos_;
    skip_space();
    if (take(']')) return value;
    while (true) {
      value.items.push_back(read(depth + 1));
      skip_space();
      if (take(']')) return value;
      if (!take(',')) fail("\",\" or \"]\" is missing");
    }
  }

  Value read_object(int depth) {
    Value value;
    value.kind = Value::Kind::kObject;
    ++pos_;
    skip_space();
    if (take('}')) return value;
    while (true) {
      skip_space();
      if (peek() != '"') fail("a key is missing");
      std::string key = read_string();
      skip_space();
      if (!take(':')) fail("\":\" is missing");
      value.members.push_back({std::move(key), read(depth + 1)});
      skip_space();
      if (take('}')) break;
      if (!take(',')) fail("\",\" or \"}\" is missing");
    }
    sort_members(value.members);
    return value;
  }

  void sort_members(std::vector<Member>& members) const {
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.key < b.key; });
    const auto twice = std::adjacent_find(members.begin(), members.end(),
                                          [](const Member& a, const Member& b) { return a.key == b.key; });
    if (twice != members.end())
      fail(str("the key ", excerpt(twice->key), " comes twice in the object before"));
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

std::optional<Value> read_value(std::string_view text, std::string& fault) {
  if (text.size() > kMaxBytes) {
    fault = str("more than ", kMaxBytes, " bytes");
    return std::nullopt;
  }
  if (const auto offset = find_invalid_utf8(text)) {
    fault = str("not UTF-8 at byte ", *offset + 1);
    return std::nullopt;
  }
  try {
    return Reader(text).read_document();
  } catch (const Fault& found) {
    fault = str(found.reason, ", at byte ", found.offset + 1);
    return std::nullopt;
  }
}

}  // namespace cohort::json_schema
