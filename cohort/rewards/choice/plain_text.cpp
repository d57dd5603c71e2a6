#include "cohort/rewards/choice/plain_text.h"

#include <algorithm>
#include <optional>

#include "libs/common/utf8.h"

namespace cohort::choice {
namespace {

bool is_ascii_letter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }
bool is_ascii_word(char32_t c) { return is_ascii_letter(c) || (c >= U'0' && c <= U'9'); }

bool is_in(char32_t c, std::u32string_view set) { return set.find(c) != std::u32string_view::npos; }

// Brackets, quotes and marks of other scripts.
std::optional<char32_t> ascii_of(char32_t c) {
  if (c >= 0xFF01 && c <= 0xFF5E) return c - 0xFF01 + U'!';
  if (is_in(c, U"\u3010\u300A\u3008\u3014\u3016\u2985")) return U'(';
  if (is_in(c, U"\u3011\u300B\u3009\u3015\u3017\u2986")) return U')';
  if (is_in(c, U"\u201C\u201D\u201E\u201F\u00AB\u00BB\u2039\u203A\u300C\u300D\u300E\u300F\u201A"))
    return U'"';
  if (is_in(c, U"\u3001\u060C\uFF64\u3003")) return U',';
  if (is_in(c, U"\u2018\u2019\u02BC")) return U'\'';
  if (is_in(c, U"\u2013\u2014\u2015\u2012\u2010\u2011")) return U'-';
  if (is_in(c, U"\u2192\u21D2\u279C\u27A1\u27F9\u27F6\u2794\u21A6\u2799")) return kArrow;
  if (is_in(c, U"\u2212\u00D7\u00F7\u00B7\u22C5\u2260\u2248\u2264\u2265\u00B0\u00B1\u2208\u222A\u2229\u2282"))
    return kOperator;
  if (is_in(c, U"\u0964\u06D4\uFF61")) return U'\u3002';
  if (c == 0x061F) return U'?';
  if (c == 0x061B) return U';';
  if (c == 0x2236 || c == 0xA789) return U':';
  if (is_in(c, U"\u00A0\u3000\u2009\u200A\u202F\u2002\u2003\u200B\u200C\u200D\uFEFF\uFE0F\u20E3"))
    return U' ';
  return std::nullopt;
}

// The letter in a circle or a square.
std::optional<char32_t> letter_in_shape(char32_t c) {
  for (const char32_t first : {0x24B6, 0x24D0, 0x1F110, 0x1F130, 0x1F150, 0x1F170}) {
    if (c >= first && c < first + 26) return U'A' + (c - first);
  }
  if (c >= 0x249C && c < 0x249C + 26) return U'A' + (c - 0x249C);
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::u32string text) : text_(std::move(text)) {}

  std::u32string read() {
    while (at_ < text_.size()) take();
    return std::move(plain_);
  }

 private:
  char32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0'; }
  bool follows_word() const { return at_ > 0 && is_ascii_word(text_[at_ - 1]); }

  void take() {
    const char32_t c = peek();
    if (c == U'\\') return take_command();
    if (c == U'<' && take_tag()) return;
    if ((c == U'-' || c == U'=') && peek(1) == U'>') return put(kArrow, 2);
    if (const auto letter = letter_in_shape(c)) {
      plain_ += {U'(', *letter, U')'};
      ++at_;
      return;
    }
    put(meaning_of(c), 1);
  }

  void put(char32_t c, size_t size) {
    plain_ += c;
    at_ += size;
  }

  char32_t meaning_of(char32_t c) const {
    const bool is_inside = follows_word() && is_ascii_word(peek(1));
    if (c == U'*' || c == U'#') return is_inside ? kOperator : U' ';
    if (c == U'_') return follows_word() && (is_ascii_word(peek(1)) || peek(1) == U'{') ? U'_' : U' ';
    if (c == U'{' && at_ > 0 && text_[at_ - 1] == U'_') return U'_';
    if (is_in(c, U"`$~|{}\t\r")) return U' ';
    if (is_in(c, U"=+^<>%")) return kOperator;
    const std::optional<char32_t> ascii = ascii_of(c);
    return ascii && *ascii < 0x80 ? meaning_of(*ascii) : ascii.value_or(c);
  }

  // <b>, </strong>, <br/>
  bool take_tag() {
    constexpr size_t kMaxTag = 12;
    size_t length = peek(1) == U'/' ? 2 : 1;
    if (!is_ascii_letter(peek(length))) return false;
    while (length < kMaxTag && is_ascii_word(peek(length))) ++length;
    if (peek(length) == U'/') ++length;
    if (peek(length) != U'>') return false;
    put(U' ', length + 1);
    return true;
  }

  void take_command() {
    size_t length = 1;
    while (is_ascii_letter(peek(length))) ++length;
    if (length == 1) {
      const bool is_line = peek(1) == U'\\';
      return put(is_line ? U'\n' : U' ', std::min<size_t>(2, text_.size() - at_));
    }
    const std::u32string_view name = std::u32string_view(text_).substr(at_ + 1, length - 1);
    put(meaning_of_command(name), length);
    if (name == U"therefore") plain_ += U" therefore ";
  }

  static char32_t meaning_of_command(std::u32string_view name) {
    constexpr std::u32string_view kText[] = {
        U"text",      U"textbf", U"textrm", U"textit", U"mathrm",    U"mathbf",    U"mathit",
        U"mathsf",    U"boxed",  U"fbox",   U"emph",   U"bf",        U"underline", U"displaystyle",
        U"left",      U"right",  U"quad",   U"qquad",  U"mathtt",    U"texttt",    U"rm",
        U"therefore", U"large",  U"Large",  U"bm",     U"boldsymbol"};
    constexpr std::u32string_view kArrows[] = {U"to",      U"rightarrow",     U"Rightarrow",
                                               U"implies", U"longrightarrow", U"Longrightarrow"};
    if (std::find(std::begin(kText), std::end(kText), name) != std::end(kText)) return U' ';
    if (std::find(std::begin(kArrows), std::end(kArrows), name) != std::end(kArrows)) return kArrow;
    return name == U"checkmark" ? U'\u2713' : kOperator;
  }

  std::u32string text_, plain_;
  size_t at_ = 0;
};

}  // namespace

std::u32string plain_text(std::string_view text) {
  std::string bytes(text);
  const std::string valid = take_all_utf8(bytes);
  std::u32string points;
  for (size_t pos = 0; pos < valid.size();) points += next_code_point(valid, pos);
  return Reader(std::move(points)).read();
}

}  // namespace cohort::choice
