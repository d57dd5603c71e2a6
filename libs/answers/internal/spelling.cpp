#include "libs/answers/internal/spelling.h"

#include <algorithm>
#include <array>
#include <optional>

#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/plain_text.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

struct Script {
  std::string_view bytes;
  char plain;
};

constexpr std::array<Script, 13> kRaised = {{{"⁰", '0'},
                                             {"¹", '1'},
                                             {"²", '2'},
                                             {"³", '3'},
                                             {"⁴", '4'},
                                             {"⁵", '5'},
                                             {"⁶", '6'},
                                             {"⁷", '7'},
                                             {"⁸", '8'},
                                             {"⁹", '9'},
                                             {"⁻", '-'},
                                             {"⁺", '+'},
                                             {"ⁿ", 'n'}}};
constexpr std::array<Script, 10> kLowered = {{{"₀", '0'},
                                              {"₁", '1'},
                                              {"₂", '2'},
                                              {"₃", '3'},
                                              {"₄", '4'},
                                              {"₅", '5'},
                                              {"₆", '6'},
                                              {"₇", '7'},
                                              {"₈", '8'},
                                              {"₉", '9'}}};

class Speller {
 public:
  explicit Speller(std::string_view text) : text_(text) {}

  std::string run() {
    while (position_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  char at(size_t index) const { return index < text_.size() ? text_[index] : '\0'; }
  bool starts(std::string_view prefix) const { return text_.substr(position_, prefix.size()) == prefix; }

  // The last character that was written and is no space.
  char before() const {
    const size_t last = out_.find_last_not_of(" ~");
    return last == std::string::npos ? '\0' : out_[last];
  }

  void keep(size_t count) {
    out_ += text_.substr(position_, count);
    position_ += count;
  }

  void step() {
    const char c = text_[position_];
    if (static_cast<unsigned char>(c) >= 0x80) return sign();
    if (c == '\\') return command();
    if (is_digit(c)) return digits();
    const char previous = out_.empty() ? '\0' : out_.back();
    const bool is_alone = c == '{' && previous != '^' && previous != '_' && at(position_ + 2) == '}';
    if (is_alone && std::string_view(":=+-<>").find(at(position_ + 1)) != std::string_view::npos) {
      out_ += at(position_ + 1);
      position_ += 3;
      return;
    }
    if (c == 'x' && is_digit(before()) && is_power_of_ten()) {
      out_ += "\\times ";
      ++position_;
      return;
    }
    if (c == '.' && !is_digit(previous) && (starts(".\\overline") || starts(".\\bar") || starts(".\\dot")))
      out_ += '0';
    keep(1);
  }

  // Does 10^ stand behind the x of 3.2 x 10^5?
  bool is_power_of_ten() const {
    const size_t place = text_.find_first_not_of(' ', position_ + 1);
    if (place == std::string_view::npos) return false;
    const std::string_view behind = text_.substr(place);
    return behind.starts_with("10^") || behind.starts_with("10⁻");
  }

  void sign() {
    if (script(kRaised, '^') || script(kLowered, '_')) return;
    keep(1);
  }

  template <size_t kCount>
  bool script(const std::array<Script, kCount>& scripts, char sign) {
    std::string plain;
    bool is_found = true;
    while (is_found) {
      is_found = false;
      for (const Script& script : scripts) {
        if (!starts(script.bytes)) continue;
        plain += script.plain;
        position_ += script.bytes.size();
        is_found = true;
        break;
      }
    }
    if (plain.empty()) return false;
    out_ += sign;
    out_ += "{" + plain + "}";
    return true;
  }

  // Thousands parted by spaces, apostrophes, underscores and several points; commas are left to the lexer,
  // which knows brackets.
  void digits() {
    const Numeral numeral = read_numeral(text_, position_, false);
    const bool is_number = numeral.is_whole && !is_digit(before()) && before() != '.' && before() != '/';
    if (is_number) {
      out_ += numeral.plain;
      position_ = numeral.end;
    } else {
      keep(std::min(text_.find_first_not_of("0123456789", position_), text_.size()) - position_);
    }
  }

  // The place behind the group in braces at `place`; nothing where none is there.
  std::optional<size_t> group_end(size_t place) const {
    place = std::min(text_.find_first_not_of(' ', place), text_.size());
    if (at(place) != '{') return std::nullopt;
    int depth = 0;
    for (size_t i = place; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '{') {
        ++depth;
      } else if (text_[i] == '}' && --depth == 0) {
        return i + 1;
      }
    }
    return std::nullopt;
  }

  void command() {
    size_t end = position_ + 1;
    while (is_letter(at(end))) ++end;
    const std::string_view name = text_.substr(position_ + 1, end - position_ - 1);
    if (name.empty()) return line_break();
    const size_t group = end + (at(end) == '*');
    for (std::string_view dropped :
         {"color", "textcolor", "hspace", "vspace", "phantom", "hphantom", "vphantom"}) {
      const std::optional<size_t> behind = name == dropped ? group_end(group) : std::nullopt;
      if (!behind) continue;
      out_ += ' ';
      position_ = *behind;
      return;
    }
    if (name == "text" || name == "mathrm" || name == "textbf") {
      if (const std::optional<size_t> behind = group_end(end)) {
        const std::string_view inside = text_.substr(end, *behind - end);
        if (is_bare_sign(inside)) {
          out_ += inside.substr(inside.find('{') + 1, inside.rfind('}') - inside.find('{') - 1);
          position_ = *behind;
          return;
        }
      }
    }
    keep(end - position_);
  }

  // \text{-}, \text{(}, \text{\%}: a sign in a text font.
  static bool is_bare_sign(std::string_view group) {
    size_t count = 0;
    for (char c : group) {
      const bool is_known = std::string_view("{} \\-%().,:").find(c) != std::string_view::npos;
      if (!is_known) return false;
      count += c != '{' && c != '}' && c != ' ' && c != '\\';
    }
    return count == 1;
  }

  // \\[4pt] without the space, and none at the very end; other signs behind a backslash as they are.
  void line_break() {
    if (at(position_ + 1) != '\\') return keep(std::min<size_t>(2, text_.size() - position_));
    size_t end = position_ + 2;
    if (at(end) == '[' && (is_digit(at(end + 1)) || at(end + 1) == '.')) {
      size_t close = end + 1;
      while (is_digit(at(close)) || is_letter(at(close)) || at(close) == '.') ++close;
      if (at(close) == ']' && is_letter(at(close - 1))) end = close + 1;
    }
    if (text_.find_first_not_of(" \n\t", end) != std::string_view::npos) out_ += "\\\\";
    position_ = end;
  }

  std::string_view text_;
  size_t position_ = 0;
  std::string out_;
};

}  // namespace

std::string respell(std::string_view text) {
  const std::string plain = to_plain(text);
  return Speller(plain).run();
}

}  // namespace cohort::answers
