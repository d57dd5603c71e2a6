// The escapes of string literals, which Jinja reads as Python does.
#include <cstdio>
#include <string_view>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/token.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

class Unescaper {
 public:
  Unescaper(std::string_view literal, int line) : literal_(literal), line_(line) {}

  std::string run() {
    while (pos_ < literal_.size()) {
      const char c = literal_[pos_++];
      if (c == '\\' && pos_ < literal_.size()) {
        read_escape();
      } else {
        text_ += c;
      }
    }
    return std::move(text_);
  }

 private:
  [[noreturn]] void fail(const char* message) const {
    throw TemplateError(str("line ", line_, ": a string has ", message));
  }

  void read_escape() {
    const char c = literal_[pos_];
    static constexpr std::string_view kNames = "\\'\"abfnrtv";
    static constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
    if (static_cast<uint8_t>(c) >= 0x80) return keep_escaped();
    ++pos_;
    if (const size_t i = kNames.find(c); i != std::string_view::npos) {
      text_ += kValues[i];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      read_hex(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '7') {
      read_octal(c - '0');
    } else if (c == 'N') {
      fail("an escape \\N{...}, which is not supported");
    } else if (c != '\n') {
      text_.append(1, '\\').append(1, c);
    }
  }

  void read_hex(int count) {
    uint32_t code = 0;
    for (int i = 0; i < count; ++i) {
      const int digit = pos_ < literal_.size() ? hex_value(literal_[pos_]) : -1;
      if (digit < 0) fail("a truncated escape");
      code = code << 4 | digit;
      ++pos_;
    }
    if (code > 0x10FFFF) fail("an escape beyond Unicode");
    if (code >= 0xD800 && code <= 0xDFFF) fail("an escape of half a surrogate pair, which is not supported");
    append_utf8(text_, code);
  }

  void read_octal(int first) {
    char32_t code = first;
    for (int i = 0; i < 2 && pos_ < literal_.size() && literal_[pos_] >= '0' && literal_[pos_] <= '7'; ++i)
      code = code * 8 + (literal_[pos_++] - '0');
    append_utf8(text_, code);
  }

  /// Python reads the literal with non-ASCII characters escaped, so that a backslash before one escapes a
  /// backslash.
  void keep_escaped() {
    const char32_t code = next_code_point(literal_, pos_);
    char escape[16];
    const char* format = code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
    std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(code));
    text_ += escape;
  }

  std::string_view literal_;
  int line_;
  size_t pos_ = 0;
  std::string text_;
};

}  // namespace

std::string unescape(std::string_view literal, int line) { return Unescaper(literal, line).run(); }

}  // namespace cohort::jinja
