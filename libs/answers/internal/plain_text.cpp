#include "libs/answers/internal/plain_text.h"

#include <algorithm>
#include <iterator>

#include "libs/common/ascii.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort::answers {
namespace {

// Where the ten digits of a script begin.
constexpr char32_t kZeros[] = {0x0660,  0x06F0,  0x07C0,  0x0966,  0x09E6,  0x0A66,  0x0AE6, 0x0B66, 0x0BE6,
                               0x0C66,  0x0CE6,  0x0D66,  0x0DE6,  0x0E50,  0x0ED0,  0x0F20, 0x1040, 0x1090,
                               0x17E0,  0x1810,  0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50, 0x1BB0, 0x1C40,
                               0x1C50,  0xA620,  0xA8D0,  0xA900,  0xA9D0,  0xA9F0,  0xAA50, 0xABF0, 0xFF10,
                               0x104A0, 0x11066, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6};

struct Spelling {
  char32_t first, last;
  std::string_view plain;
};

constexpr Spelling kSpellings[] = {
    {0x00A0, 0x00A0, " "},     {0x00AD, 0x00AD, ""},     {0x060C, 0x060C, ", "},   {0x061F, 0x061F, "? "},
    {0x066A, 0x066A, "%"},     {0x066B, 0x066B, "."},    {0x066C, 0x066C, ","},    {0x06D4, 0x06D4, ". "},
    {0x0964, 0x0964, ". "},    {0x1680, 0x1680, " "},    {0x2000, 0x200A, " "},    {0x200B, 0x200F, ""},
    {0x2010, 0x2011, "-"},     {0x202A, 0x202E, ""},     {0x202F, 0x202F, " "},    {0x205F, 0x205F, " "},
    {0x2012, 0x2012, "–"},     {0x2015, 0x2015, "—"},    {0x2044, 0x2044, "/"},    {0x2060, 0x2064, ""},
    {0x2215, 0x2215, "/"},     {0x20E3, 0x20E3, ""},     {0x2103, 0x2103, "°C"},   {0x2109, 0x2109, "°F"},
    {0x2113, 0x2113, "L"},     {0x2236, 0x2236, ":"},    {0x3000, 0x3000, " "},    {0x3001, 0x3001, ", "},
    {0x3002, 0x3002, ". "},    {0x3008, 0x3011, "\""},   {0x301C, 0x301C, "~"},    {0x338E, 0x338E, " mg"},
    {0x338F, 0x338F, " kg"},   {0x339C, 0x339C, " mm"},  {0x339D, 0x339D, " cm"},  {0x339E, 0x339E, " km"},
    {0x33A0, 0x33A0, " cm^2"}, {0x33A1, 0x33A1, " m^2"}, {0x33A5, 0x33A5, " m^3"}, {0xFE00, 0xFE0F, ""},
    {0xFE62, 0xFE62, "+"},     {0xFE63, 0xFE63, "-"},    {0xFE6A, 0xFE6A, "%"},    {0xFEFF, 0xFEFF, ""},
    {0xFF01, 0xFF01, "! "},    {0xFF1B, 0xFF1B, "; "},   {0xFF1F, 0xFF1F, "? "},   {0xFF61, 0xFF61, ". "},
    {0xFF64, 0xFF64, ", "},    {0xFFE5, 0xFFE5, "¥"}};

constexpr std::u32string_view kRaised = U"⁰¹²³⁴⁵⁶⁷⁸⁹", kLowered = U"₀₁₂₃₄₅₆₇₈₉";
constexpr std::u32string_view kSlashes = U"⁄∕/";

class Writer {
 public:
  explicit Writer(std::string_view text) : text_(text) {}

  std::string run() {
    for (size_t next = skip_ascii(text_, 0); position_ < text_.size(); next = skip_ascii(text_, position_)) {
      out_ += text_.substr(position_, next - position_);
      position_ = next;
      if (position_ < text_.size() && !raised_fraction()) character();
    }
    return std::move(out_);
  }

 private:
  char32_t peek(size_t position) const {
    return position < text_.size() ? next_code_point(text_, position) : 0;
  }

  static bool is_any_digit(char32_t c) {
    return (c >= '0' && c <= '9') || std::any_of(std::begin(kZeros), std::end(kZeros),
                                                 [c](char32_t zero) { return c >= zero && c < zero + 10; });
  }

  bool follows_digit() const { return !out_.empty() && is_digit(out_.back()); }

  bool is_between_digits() const {
    const size_t last = out_.find_last_not_of(' '), next = text_.find_first_not_of(' ', position_);
    return last != std::string::npos && is_digit(out_[last]) &&
           is_any_digit(peek(std::min(next, text_.size())));
  }

  void character() {
    const size_t begin = position_;
    const char32_t c = next_code_point(text_, position_);
    const auto zero = std::find_if(std::begin(kZeros), std::end(kZeros),
                                   [c](char32_t first) { return c >= first && c < first + 10; });
    const auto spelling = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                       [c](const Spelling& s) { return c >= s.first && c <= s.last; });
    if (zero != std::end(kZeros)) {
      out_ += static_cast<char>('0' + (c - *zero));
    } else if (c == 0xFF08) {
      out_ += follows_digit() ? " (" : "(";  // a remark, and no factor
    } else if (c == 0xFF0C || c == 0xFF1A) {
      mark(c == 0xFF0C ? ',' : ':');
    } else if (spelling != std::end(kSpellings)) {
      out_ += spelling->plain;
    } else if (c >= 0xFF01 && c <= 0xFF5E && c != U'％') {
      out_ += static_cast<char>(c - 0xFEE0);
    } else if ((c == U'х' || c == U'Х') && is_between_digits()) {
      out_ += "×";  // the Cyrillic letter
    } else if ((c == U'负' || c == U'負') && is_any_digit(peek(position_))) {
      out_ += '-';
    } else {
      out_ += text_.substr(begin, position_ - begin);
    }
  }

  // A comma or colon in full width. Within a number of such digits it belongs to the number, else it parts.
  void mark(char plain) {
    size_t end = position_;
    int num_digits = 0;
    for (char32_t c = peek(end); c >= 0xFF10 && c <= 0xFF19; c = peek(end)) {
      ++num_digits;
      next_code_point(text_, end);
    }
    const bool is_inside =
        follows_digit() && (plain == ',' ? num_digits == 3 : is_any_digit(peek(position_)));
    out_ += plain;
    if (!is_inside) out_ += ' ';
  }

  // The digits of `script` from `position` on, which moves behind them.
  std::string script_digits(std::u32string_view script, size_t& position) const {
    std::string digits;
    while (position < text_.size()) {
      size_t next = position;
      const size_t digit = script.find(next_code_point(text_, next));
      if (digit == std::u32string_view::npos) break;
      digits += static_cast<char>('0' + digit);
      position = next;
    }
    return digits;
  }

  // ¹⁄₂ and ¹/₂, of a mixed number with a space before it.
  bool raised_fraction() {
    size_t end = position_;
    const std::string above = script_digits(kRaised, end);
    const bool is_exponent =
        !out_.empty() && (is_letter(out_.back()) || out_.back() == ')' || out_.back() == '}');
    if (above.empty() || is_exponent || kSlashes.find(peek(end)) == std::u32string_view::npos ||
        end >= text_.size())
      return false;
    next_code_point(text_, end);
    const std::string below = script_digits(kLowered, end);
    if (below.empty()) return false;
    if (follows_digit()) out_ += ' ';
    out_ += above;
    out_ += '/';
    out_ += below;
    position_ = end;
    return true;
  }

  std::string_view text_;
  size_t position_ = 0;
  std::string out_;
};

bool is_in(const std::optional<CodePointSet>& set, char32_t c) { return set && set->contains(c); }

bool is_raised_letter(char32_t c) {
  return (c >= 0x2070 && c <= 0x209F) || (c >= 0x02B0 && c <= 0x02FF) || (c >= 0x1D2C && c <= 0x1D6A) ||
         (c >= 0x1D78 && c <= 0x1DBF);
}

}  // namespace

std::string to_plain(std::string_view text) {
  if (skip_ascii(text, 0) == text.size()) return std::string(text);
  if (!find_invalid_utf8(text)) return Writer(text).run();
  std::string bytes(text);
  const std::string valid = take_all_utf8(bytes);
  return Writer(valid).run();
}

size_t character_length(std::string_view text, size_t pos) {
  const auto lead = static_cast<unsigned char>(text[pos]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return length == 0 || find_invalid_utf8(text.substr(pos, length)) ? 1 : length;
}

Neighbor neighbor_at(std::string_view text, size_t& pos) {
  static const std::optional<CodePointSet> scripts[] = {script("Han"), script("Hiragana"), script("Katakana"),
                                                        script("Hangul")};
  static const std::optional<CodePointSet> letters = general_category("L"), marks = general_category("M"),
                                           punctuation = general_category("P"),
                                           spaces = general_category("Z"), money = general_category("Sc");
  const size_t length = character_length(text, pos);
  if (length == 1) {
    ++pos;
    return Neighbor::kUnknown;  // a byte of a character that was cut
  }
  const char32_t c = next_code_point(text, pos);
  if (is_raised_letter(c)) return Neighbor::kUnknown;
  const bool is_cjk =
      std::any_of(std::begin(scripts), std::end(scripts), [c](const auto& set) { return is_in(set, c); });
  const bool is_thai = c >= 0x0E01 && c <= 0x0E4E && c != U'฿';  // written without spaces, too
  if (is_cjk || is_thai || c == U'ー') return Neighbor::kCjk;
  if (c == U'ª' || c == U'º') return Neighbor::kBoundary;
  if (is_in(letters, c) || is_in(marks, c)) return Neighbor::kLetter;
  const bool is_mark = is_in(punctuation, c) && c != U'‰' && c != U'‱';
  const bool is_arrow = (c >= 0x2190 && c <= 0x21FF) || (c >= 0x27F0 && c <= 0x27FF) ||
                        (c >= 0x2900 && c <= 0x297F) || c == U'∴' || c == U'∵' || c == U'∎';
  const bool is_picture = (c >= 0x2500 && c <= 0x27BF) || (c >= 0x2B00 && c <= 0x2BFF) || c >= 0x1F000 ||
                          c == U'©' || c == U'®' || c == U'™' || c == U'№';
  const bool is_boundary = is_mark || is_in(spaces, c) || is_in(money, c) || is_arrow || is_picture;
  return is_boundary ? Neighbor::kBoundary : Neighbor::kUnknown;
}

}  // namespace cohort::answers
