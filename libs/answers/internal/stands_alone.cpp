#include "libs/answers/internal/stands_alone.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/symbols.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool starts_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// What makes another value of the number that it touches: 12多, 12分之5, 12半.
bool changes_value_before(std::string_view cjk) {
  return starts_any(cjk,
                    {"成", "折", "割", "半", "余", "餘", "多", "几", "幾", "数", "分之", "分の", "분의"});
}

// The words of Chinese, Japanese and Korean that a number goes on behind: 3万5, 12点5, 5月12, 百分之5.
bool changes_value_behind(std::string_view cjk) {
  return starts_any(
      cjk, {"万", "萬", "亿", "億", "兆", "千", "百", "十", "点", "點", "之", "の", "负", "負", "年", "月",
            "时", "時", "分", "만", "억", "조", "천", "백", "십", "년", "월", "시", "분", "점", "의"});
}

// Bytes of the character that ends at `end`.
size_t length_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return end - begin;
}

bool is_beyond_ascii(std::string_view character) { return static_cast<unsigned char>(character[0]) >= 0x80; }

// The sign that joins nothing: quotes, dots, spaces and what leads to a value.
bool is_sign_around(std::string_view latex) {
  if (latex == " " || latex.empty() || latex == "'" || latex == "\"" || latex == "\\ldots " ||
      latex == "\\approx ")
    return true;
  const auto command = latex[0] == '\\' ? find_command(latex.substr(1, latex.find(' ') - 1)) : std::nullopt;
  return command && is_currency(command->meaning);
}

// May a mark between two digits, without spaces, part two values: 5;6, 5→6?
bool parts_digits(std::string_view mark) {
  constexpr std::string_view kMarks[] = {";", "|", ":", "(", ")", "[", "]", ">",
                                         "→", "⇒", "➜", "=", "*", "+", "-"};
  return std::find(std::begin(kMarks), std::end(kMarks), mark) != std::end(kMarks);
}

bool is_digit_at(std::string_view text, size_t position) {
  return position < text.size() && is_digit(text[position]);
}

// Does a sign join a number that ends before it to the one behind it: 12 ~ 3, 12 ✖ 3, 12 ↑↑ 3?
bool joins_numbers(std::string_view before) {
  constexpr std::string_view kSigns[] = {"•", "‧", "・", "·", "↑", "↓", "↔", "~",
                                         "✕", "✖", "‥",  "^", "_", "/", "@"};
  constexpr int kMaxSigns = 3;
  int num_signs = 0;
  for (; num_signs < kMaxSigns; ++num_signs) {
    const auto sign =
        std::find_if(std::begin(kSigns), std::end(kSigns),
                     [before](std::string_view candidate) { return before.ends_with(candidate); });
    if (sign == std::end(kSigns)) break;
    before.remove_suffix(sign->size());
  }
  before = before.substr(0, before.find_last_not_of(' ') + 1);
  return num_signs > 0 && !before.empty() && is_digit(before.back());
}

// A minus without its right side, or dots: "12-.", "12...".
bool goes_on(std::string_view behind) {
  if (behind.starts_with("...")) return true;
  const bool is_end = behind.size() == 1 || is_space(behind[1]) ||
                      std::string_view(".;:!?)").find(behind[1]) != std::string_view::npos;
  return behind[0] == '-' && is_end;
}

// May the character at `position` behind a value belong to it? It touches the value, or spaces part them.
bool belongs_behind(std::string_view text, size_t position, bool touches) {
  const std::string_view rest = text.substr(position),
                         character = rest.substr(0, character_length(text, position));
  const size_t next = position + character.size();
  if (touches && (rest.starts_with("<sup") || rest.starts_with("<sub"))) return true;
  if (!is_beyond_ascii(character)) {
    if (rest[0] == '\\') return next < text.size() && is_letter(text[next]);
    const bool is_mark = !is_letter(rest[0]) && !is_digit(rest[0]) && !is_space(rest[0]);
    const bool ends_digits = touches && position > 0 && is_digit(text[position - 1]);
    if (ends_digits && goes_on(rest)) return true;
    return is_mark && ends_digits && is_digit_at(text, next) && !parts_digits(character);
  }
  size_t length = 0, end = position;
  if (const auto sign = find_sign(rest, length)) {
    if (touches && *sign == "\\ldots " && position > 0 && is_digit(text[position - 1])) return true;
    const bool is_harmless = *sign == "-" || *sign == "\\degree " || is_sign_around(*sign);
    return touches && (!is_harmless || (*sign == "'" && is_digit_at(text, next)));
  }
  const Neighbor neighbor = neighbor_at(text, end);
  if (neighbor == Neighbor::kUnknown) return true;
  if (!touches) return false;
  if (neighbor == Neighbor::kCjk) return changes_value_before(rest);
  if (neighbor == Neighbor::kBoundary) return is_digit_at(text, next) && !parts_digits(character);
  // One letter is a variable that we do not know; a word is what is counted.
  if (end >= text.size()) return true;
  const bool is_far = static_cast<unsigned char>(text[end]) >= 0x80;
  return !is_letter(text[end]) && !(is_far && neighbor_at(text, end) == Neighbor::kLetter);
}

// May the character that ends at `end`, before a value, belong to it?
bool belongs_before(std::string_view text, size_t end, bool touches, bool is_formula) {
  const size_t begin = end - length_before(text, end);
  const std::string_view character = text.substr(begin, end - begin), before = text.substr(0, begin);
  constexpr size_t kMaxDots = 3;
  size_t last = before.size();
  while (last > 0 && before.size() - last < kMaxDots && character == "." && before[last - 1] == '.') --last;
  const bool follows_digit = last > 0 && is_digit(before[last - 1]);
  const std::string_view until = text.substr(0, end);
  for (const std::string_view tag : {"<sup>", "<sub>", "</sup>", "</sub>"}) {
    if (touches && until.ends_with(tag)) return true;
  }
  if (is_digit_at(text, text.find_first_not_of(' ', end)) && joins_numbers(until)) return true;
  const bool starts_digits = touches && is_digit_at(text, end);
  if (!is_beyond_ascii(character)) {
    if (!touches && is_digit(character[0])) return is_digit_at(text, text.find_first_not_of(' ', end));
    if (!touches || is_letter(character[0]) || is_digit(character[0]) || is_space(character[0])) return false;
    const bool is_minus =
        is_formula && character == "-" &&
        (before.empty() || std::string_view(" \n=(:").find(before.back()) != std::string_view::npos);
    if (character == "\\" || character == "^" || character == "/" || is_minus) return true;
    return starts_digits && follows_digit && !parts_digits(character) && character != ",";
  }
  size_t length = 0, next = begin;
  if (const auto sign = find_sign(text.substr(begin), length)) {
    if (starts_digits && follows_digit && (*sign == "'" || *sign == "\\ldots ")) return true;
    return touches && (is_formula || sign->starts_with('^')) && !is_sign_around(*sign);
  }
  const Neighbor neighbor = neighbor_at(text, next);
  if (neighbor == Neighbor::kUnknown) return true;
  if (!touches) return false;
  if (neighbor == Neighbor::kBoundary) return starts_digits && follows_digit && !parts_digits(character);
  return neighbor == Neighbor::kCjk && changes_value_behind(text.substr(begin));
}

}  // namespace

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const size_t behind = std::min(text.find_first_not_of(' ', end), text.size());
  if (behind < text.size() && belongs_behind(text, behind, behind == end)) return false;
  const size_t last = begin == 0 ? std::string_view::npos : text.find_last_not_of(' ', begin - 1);
  const bool is_formula = text[begin] == '$' || text[begin] == '\\';
  return last == std::string_view::npos || !belongs_before(text, last + 1, last + 1 == begin, is_formula);
}

}  // namespace cohort::answers
