#include "libs/json_schema/internal/pattern.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "libs/common/str.h"

namespace cohort::json_schema {
namespace {

// A search that takes more steps than this, about a millisecond, ends with an error. Switched off: ^ and $ at
// lines, which the class Regex switches on.
constexpr std::string_view kPrefix = "(*LIMIT_MATCH=200000)(?-m)";

bool is_hex(std::string_view text) {
  return text.size() == 4 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

uint32_t hex_value(std::string_view text) {
  return static_cast<uint32_t>(std::strtoul(std::string(text).c_str(), nullptr, 16));
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  std::string translate() {
    std::string out(kPrefix);
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '\\') {
        take_escape(out);
      } else if (c == '[') {
        take_class(out);
      } else {
        rest_.remove_prefix(1);
        // PCRE2's $ matches before a line break at the end, too.
        out += c == '$' ? std::string_view("\\z") : std::string_view(&c, 1);
      }
    }
    return out;
  }

 private:
  void take_escape(std::string& out) {
    if (rest_.starts_with("\\u{")) {
      out += "\\x";
      rest_.remove_prefix(2);
    } else if (rest_.starts_with("\\u") && is_hex(rest_.substr(2, 4))) {
      take_unicode_escape(out);
    } else {
      out += rest_.substr(0, 2);
      rest_.remove_prefix(std::min<size_t>(2, rest_.size()));
    }
  }

  void take_unicode_escape(std::string& out) {
    uint32_t code = hex_value(rest_.substr(2, 4));
    rest_.remove_prefix(6);
    const bool is_high = code >= 0xD800 && code <= 0xDBFF;
    if (is_high && rest_.starts_with("\\u") && is_hex(rest_.substr(2, 4))) {
      code = 0x10000 + ((code - 0xD800) << 10) + (hex_value(rest_.substr(2, 4)) & 0x3FF);
      rest_.remove_prefix(6);
    }
    std::ostringstream hex;
    hex << "\\x{" << std::hex << code << "}";
    out += hex.str();
  }

  // In ECMA-262 [] matches nothing and [^] anything, and [ is a letter like others inside.
  void take_class(std::string& out) {
    if (rest_.starts_with("[]") || rest_.starts_with("[^]")) {
      const bool is_empty = rest_[1] == ']';
      out += is_empty ? "(?!)" : "(?s:.)";
      rest_.remove_prefix(is_empty ? 2 : 3);
      return;
    }
    out += '[';
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != ']') {
      if (rest_[0] == '\\') {
        take_escape(out);
        continue;
      }
      if (rest_[0] == '[') out += '\\';
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return;
    out += ']';
    rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern) { return Translator(pattern).translate(); }

}  // namespace cohort::json_schema
