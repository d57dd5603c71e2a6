#include "libs/answers/internal/numeral.h"

#include <algorithm>
#include <vector>

#include "libs/answers/comparison.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

constexpr size_t kGroup = 3;  // digits between separators of thousands

class Reader {
 public:
  Reader(std::string_view text, size_t begin, bool takes_commas)
      : text_(text), begin_(begin), takes_commas_(takes_commas) {}

  Numeral read() {
    size_t position = begin_;
    take_digits(position);
    while (take_part(position)) continue;
    return classify(position);
  }

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  void take_digits(size_t& position) {
    const size_t begin = position;
    while (is_digit(at(position))) ++position;
    parts_.push_back(text_.substr(begin, position - begin));
  }

  // A separator and the digits behind it; false where the numeral ends.
  bool take_part(size_t& position) {
    constexpr std::string_view kApostrophe = "’";
    const bool is_curly = text_.substr(std::min(position, text_.size())).starts_with(kApostrophe);
    const char separator = is_curly ? '\'' : at(position) == '~' && !takes_commas_ ? ' ' : at(position);
    const size_t next = position + (is_curly ? kApostrophe.size() : 1);
    if (separator == '\0' || std::string_view(" ,.'_").find(separator) == std::string_view::npos)
      return false;
    if (!is_digit(at(next)) || (separator == ',' && !takes_commas_)) return false;
    size_t end = next;
    while (is_digit(at(end))) ++end;
    const bool is_group = end - next == kGroup;
    if (separator == '_' && !is_group) return false;  // a subscript
    if (separator == ' ' && !(is_group && may_be_spaced() && !is_divided(end))) return false;
    separators_ += separator;
    position = next;
    take_digits(position);
    return true;
  }

  // Could single spaces part thousands here: 12 500, but not 2024 500 or 0 500?
  bool may_be_spaced() const {
    return separators_.find_first_not_of(' ') == std::string::npos && parts_[0].size() <= kGroup &&
           parts_[0][0] != '0';
  }

  // 3 125/216 is a mixed number.
  bool is_divided(size_t end) const {
    while (at(end) == ' ') ++end;
    return at(end) == '/' || text_.substr(std::min(end, text_.size())).starts_with("\\frac");
  }

  // Are the first `count` separators followed by groups of three digits?
  bool has_groups(size_t count) const {
    for (size_t i = 1; i <= count; ++i) {
      if (parts_[i].size() != kGroup) return false;
    }
    return parts_[0].size() <= kGroup;
  }

  // 1,23,456: lakhs and crores, whose groups have two digits but for the last.
  bool has_indian_groups(size_t count) const {
    if (count < 2 || parts_[0].size() > 2 || parts_[count].size() != kGroup) return false;
    return std::all_of(parts_.begin() + 1, parts_.begin() + static_cast<ptrdiff_t>(count),
                       [](std::string_view part) { return part.size() == 2; });
  }

  std::string joined(size_t count) const {
    std::string digits;
    for (size_t i = 0; i <= count; ++i) digits += parts_[i];
    return digits;
  }

  Numeral as_written(size_t end) const {
    return {end, true, std::string(text_.substr(begin_, end - begin_))};
  }

  Numeral classify(size_t end) const {
    const size_t count = separators_.size();
    if (count == 0) return as_written(end);
    const char first = separators_[0], last = separators_[count - 1];
    const size_t num_first = std::min(separators_.find_first_not_of(first), count);
    const bool is_one_kind = num_first == count;
    const bool has_decimals = num_first + 1 == count && (last == '.' || last == ',') && first != last;
    if (first == '.' && count == 1) return as_written(end);
    if (first == ',' && count == 1 && parts_[0][0] == '0')  // 0,234
      return {end, true, std::string(parts_[0]) + "." + std::string(parts_[1])};
    if (is_one_kind || has_decimals) {
      const bool are_groups = has_groups(num_first) || (first == ',' && has_indian_groups(num_first));
      if (are_groups && is_one_kind) return {end, true, joined(count)};
      if (are_groups) return {end, true, joined(num_first) + "." + std::string(parts_[count])};
    }
    return is_list() ? as_written(end) : Numeral{end, false, ""};
  }

  // Commas between decimals: 1,2 and 1.5,2.5.
  bool is_list() const {
    if (separators_.find_first_not_of(",.") != std::string::npos) return false;
    return separators_.find("..") == std::string::npos && separators_.find(',') != std::string::npos;
  }

  std::string_view text_;
  size_t begin_;
  bool takes_commas_;
  std::vector<std::string_view> parts_;
  std::string separators_;
};

// 1,234,567.8, which every reader of mathematics knows.
bool has_plain_groups(std::string_view written) {
  for (size_t i = 0; i < written.size(); ++i) {
    if (is_digit(written[i]) || written[i] == '.') continue;
    const size_t end = std::min(written.find_first_not_of("0123456789", i + 1), written.size());
    if (written[i] != ',' || end - i != kGroup + 1) return false;
  }
  return written.find(',') != std::string_view::npos && written.find(',') <= kGroup && written[0] != '0';
}

}  // namespace

Numeral read_numeral(std::string_view text, size_t begin, bool takes_commas) {
  return Reader(text, begin, takes_commas).read();
}

size_t exponent_length(std::string_view rest, std::string_view digits) {
  if (!rest.starts_with('e') && !rest.starts_with('E')) return 0;
  const bool has_sign = rest.size() > 1 && (rest[1] == '-' || rest[1] == '+');
  const size_t begin = has_sign ? 2 : 1;
  const size_t end = std::min(rest.find_first_not_of("0123456789", begin), rest.size());
  if (end <= begin) return 0;
  const bool is_clear =
      rest[0] == 'E' || end - begin > 1 || rest[begin] >= '5' || digits.find('.') != std::string_view::npos;
  return has_sign && !is_clear ? 0 : end;
}

std::string with_plain_numerals(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}';
    const bool is_number = is_digit(text[i]) && (i == 0 || !is_digit(text[i - 1])) && depth == 0;
    if (!is_number) {
      plain += text[i++];
      continue;
    }
    const Numeral numeral = read_numeral(text, i, true);
    const std::string_view written = text.substr(i, numeral.end - i);
    plain += numeral.is_whole && !has_plain_groups(written) ? numeral.plain : std::string(written);
    i = numeral.end;
  }
  return plain;
}

std::string with_decimal_points(std::string_view text) {
  std::string plain(text);
  for (size_t i = 1; i + 1 < plain.size(); ++i) {
    if (plain[i] != ',' || !is_digit(plain[i - 1]) || !is_digit(plain[i + 1])) continue;
    const size_t end = std::min(plain.find_first_not_of("0123456789", i + 1), plain.size());
    // 1,0000 parts groups of four, as in China and Japan, or nothing.
    const bool is_myriad = end - i == kGroup + 2 && plain[end - 1] == '0' && plain[i - 1] != '0';
    if (end - i != kGroup + 1 && !is_myriad) plain[i] = '.';
  }
  return plain;
}

std::string without_thousands_point(std::string_view text) {
  const size_t begin = text.find_first_of("0123456789");
  const size_t point = std::min(text.find('.', std::min(begin, text.size())), text.size());
  const size_t end =
      std::min(text.find_first_not_of("0123456789", std::min(point + 1, text.size())), text.size());
  const bool is_number = point < text.size() && text.find_first_not_of("0123456789", begin) == point;
  const bool are_thousands =
      is_number && point - begin <= kGroup && text[begin] != '0' && end - point == kGroup + 1;
  const bool is_only = text.find_first_of("0123456789", end) == std::string_view::npos;
  if (!are_thousands || !is_only) return std::string(text);
  return std::string(text.substr(0, point)) + std::string(text.substr(point + 1));
}

}  // namespace cohort::answers
