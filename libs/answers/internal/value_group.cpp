#include "libs/answers/internal/value_group.h"

#include <algorithm>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool is_readable(std::string_view text) {
  ParseFailure failure;
  return parse(text, failure).has_value();
}

// Dollars of money are dropped where they are not the sign before one amount.
std::string without_dollars(std::string_view text) {
  const size_t dollar = text.rfind('$');
  if (dollar == 0 || (dollar == 1 && text[0] == '\\')) return std::string(text);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '$';
    if (text[i] != '$' && !is_escape) plain += text[i];
  }
  return plain;
}

// 5 x 10^6 with the sign that is meant.
std::string with_times(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t before = plain.find_last_not_of(' '), behind = text.find_first_not_of(' ', i + 1);
    const bool is_times = text[i] == 'x' && before != std::string::npos && is_digit(plain[before]) &&
                          behind != std::string::npos && is_digit(text[behind]);
    plain += is_times ? "\\times " : text.substr(i, 1);
  }
  return plain;
}

// In prose the letter of a unit may touch its number, where nothing else stands: 5m².
std::string with_unit_apart(const std::string& text) {
  const size_t letter = text.find_first_not_of("-0123456789.");
  if (letter == std::string::npos || letter == 0 || !is_digit(text[letter - 1])) return text;
  const bool is_unit = std::string_view("mghsLNJWVA").find(text[letter]) != std::string_view::npos;
  const std::string_view behind = std::string_view(text).substr(letter + 1);
  const bool is_end = behind.empty() || behind[0] == '^' || behind == "²" || behind == "³";
  return is_unit && is_end ? str(text.substr(0, letter), " ", text.substr(letter)) : text;
}

// The piece's mathematics.
std::string value_text(const Piece& piece) {
  const std::string_view text = trim(piece.inside);
  if (piece.kind == Piece::Kind::kFormula) return std::string(text);
  return with_times(with_unit_apart(with_plain_numerals(without_dollars(text))));
}

// `text` in units. Those behind an equation of numbers belong to its last side: 9 * 2 = 18 dollars.
std::string with_units(const std::string& text, const std::string& units) {
  const size_t first = text.find('='), last = text.rfind('=');
  if (first != std::string::npos && last + 1 < text.size() &&
      judge(text.substr(0, first), text.substr(last + 1)).verdict.is_equal()) {
    return str(text.substr(last + 1), " ", units);
  }
  return str(text, " ", units);
}

const char* behind(const Piece& piece) { return piece.text.data() + piece.text.size(); }

class Group {
 public:
  Group(const std::vector<Piece>& pieces, size_t begin, bool takes_nouns)
      : pieces_(pieces), takes_nouns_(takes_nouns), position_(begin) {
    group_.begin = begin;
  }

  ValueGroup take() {
    add_value("");
    join_measure();
    while (const size_t next = next_value()) {
      const std::string connector = connector_;
      position_ = next;
      add_value(connector);
    }
    group_.end = position_;
    if (group_.num_values > 1 && is_same_value_) group_.text = first_;
    if (group_.num_values > 1 && is_same_value_) group_.num_values = 1;
    return std::move(group_);
  }

 private:
  // The value at the position with the remark or the unit behind it.
  void add_value(const std::string& connector) {
    const Piece& piece = pieces_[position_++];
    group_.is_cut = group_.is_cut || piece.is_cut;
    std::string text = value_text(piece);
    if (position_ < pieces_.size() && pieces_[position_].kind == Piece::Kind::kBare &&
        pieces_[position_].text.starts_with('(')) {
      const Piece& remark = pieces_[position_++];  // 0.5 (50%), or else a product
      if (!judge(text, remark.text).verdict.is_equal()) text += str(" ", remark.text);
    }
    if (position_ < pieces_.size() && pieces_[position_].is_mark('%')) {  // $25$%
      text += "%";
      ++position_;
    }
    add_unit(text, takes_nouns_ && piece.kind == Piece::Kind::kBare);
    const bool is_remark = position_ < pieces_.size() && pieces_[position_].kind == Piece::Kind::kBare &&
                           pieces_[position_].text.starts_with('(');
    if (is_remark && judge(text, pieces_[position_].text).verdict.is_equal()) ++position_;  // 3 dozen (36)
    // Two spellings of one value are no two answers.
    if (group_.num_values == 0) first_ = text;
    is_same_value_ = group_.num_values == 0 ||
                     (is_same_value_ && connector == " or " && judge(first_, text).verdict.is_equal());
    group_.text += connector + text;
    group_.has_formula = group_.has_formula || piece.kind == Piece::Kind::kFormula;
    ++group_.num_values;
  }

  // 2 hours 30 minutes is one value. Other values side by side, such as 3 million 500, are none.
  void join_measure() {
    constexpr int kMaxMeasures = 4;
    for (int i = 1;
         i < kMaxMeasures && position_ < pieces_.size() && pieces_[position_].kind == Piece::Kind::kBare &&
         pieces_[position_ - 1].kind != Piece::Kind::kFormula && are_side_by_side(pieces_, position_ - 1);
         ++i) {
      const Group smaller = Group(pieces_, position_, takes_nouns_).with_first();
      const std::string joined = str(group_.text, " ", smaller.group_.text);
      if (!is_readable(joined)) {
        group_.is_cut = true;
        return;
      }
      group_.text = first_ = joined;
      group_.is_cut = group_.is_cut || smaller.group_.is_cut;
      position_ = smaller.position_;
    }
  }

  Group with_first() {
    add_value("");
    return *this;
  }

  bool is_word(size_t position) const {
    return position < pieces_.size() && pieces_[position].kind == Piece::Kind::kWord;
  }

  std::string words(size_t count) const {
    std::string joined;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view word = pieces_[position_ + i].text;
      const bool is_apart = i > 0 && behind(pieces_[position_ + i - 1]) != word.data();  // Han stands close
      joined += str(is_apart ? " " : "", word);
    }
    return joined;
  }

  static bool is_half_of_day(std::string_view word) {
    constexpr std::string_view kHalves[] = {"am", "pm", "a.m.", "p.m.", "noon", "midnight", "o'clock"};
    return std::find(std::begin(kHalves), std::end(kHalves), lower_case(word)) != std::end(kHalves);
  }

  void add_unit(std::string& text, bool takes_any_noun) {
    if (is_word(position_) && is_half_of_day(pieces_[position_].text)) return add_words(text, 1);
    if (add_known_unit(text)) return;
    while (is_word(position_) &&
           (find_number_word(pieces_[position_].text) || pieces_[position_].text == "percent")) {
      text += str(" ", words(1));
      ++position_;
    }
    const bool has_two = is_word(position_) && is_word(position_ + 1);
    if (has_two && (words(2) == "per cent" || words(2) == "per mille")) return add_words(text, 2);
    if (add_known_unit(text)) return;
    const size_t num_words = count_words();
    size_t num_nouns = 0;
    while (takes_any_noun && num_nouns < std::min<size_t>(num_words, 2) &&
           is_noun(pieces_[position_ + num_nouns].text))
      ++num_nouns;
    if (num_nouns > 0) add_words(text, num_nouns);
  }

  size_t count_words() const {
    size_t num_words = 0;
    while (num_words < kMaxUnitWords && is_word(position_ + num_words)) ++num_words;
    return num_words;
  }

  // The longest name of a unit among the next words, with what it is measured per: 60千米/小时.
  bool add_known_unit(std::string& text) {
    for (size_t count = count_words(); count > 0; --count) {
      const bool is_preposition = pieces_[position_].text == "in" && position_ + 1 < pieces_.size() &&
                                  pieces_[position_ + 1].kind != Piece::Kind::kMark;
      if (is_preposition || !is_unit_name(words(count))) continue;
      add_words(text, count);
      if (position_ + 1 < pieces_.size() && pieces_[position_].is_mark('/')) add_divisor(text);
      return true;
    }
    return false;
  }

  void add_divisor(std::string& text) {
    ++position_;
    for (size_t count = count_words(); count > 0; --count) {
      if (!is_unit_name(words(count))) continue;
      text += str("/", words(count));
      position_ += count;
      return;
    }
    --position_;
  }

  static bool is_noun(std::string_view word) {
    constexpr std::string_view kNoNouns[] = {"left", "remaining", "altogether", "each", "long", "tall",
                                             "old",  "wide",      "high",       "deep", "away", "per",
                                             "mod",  "done",      "thanks",     "has",  "have", "had"};
    return word_role(word) == WordRole::kOther && !starts_remark(word) &&
           std::find(std::begin(kNoNouns), std::end(kNoNouns), word) == std::end(kNoNouns);
  }

  void add_words(std::string& text, size_t count) {
    const std::string in_units = with_units(text, words(count));
    position_ += count;
    if (is_readable(in_units)) text = in_units;
  }

  // Where the next value of the list stands, with `connector_` before it; 0 where none does.
  size_t next_value() {
    size_t next = position_;
    connector_ = ", ";
    for (; next < pieces_.size(); ++next) {
      const Piece& piece = pieces_[next];
      const bool is_joiner = piece.kind == Piece::Kind::kWord && word_role(piece.text) == WordRole::kJoiner;
      if (is_joiner) connector_ = joins_all(piece.text) ? " and " : " or ";
      if (!is_joiner && !piece.is_mark(',') && !piece.is_mark(';') && !piece.is_mark('&')) break;
    }
    return next > position_ && next < pieces_.size() && pieces_[next].is_math() ? next : 0;
  }

  static constexpr size_t kMaxUnitWords = 4;

  const std::vector<Piece>& pieces_;
  bool takes_nouns_;
  size_t position_;
  ValueGroup group_;
  std::string connector_, first_;
  bool is_same_value_ = true;
};

// 从12增加到15: a change from one value to another.
bool is_change(const std::vector<Piece>& pieces, const ValueGroup& left, const ValueGroup& right) {
  constexpr size_t kMaxWords = 8;
  if (left.begin == 0 || right.begin <= left.end || right.begin - left.end > kMaxWords) return false;
  return is_one_of(pieces[left.begin - 1].text, {"从", "從", "由", "自"}) &&
         is_one_of(pieces[right.begin - 1].text, {"到", "至", "为", "為"});
}

}  // namespace

bool are_side_by_side(const std::vector<Piece>& pieces, size_t left) {
  const char* end = behind(pieces[left]);
  const std::string_view gap(end, static_cast<size_t>(pieces[left + 1].text.data() - end));
  return gap.find_first_not_of(' ') == std::string_view::npos;
}

ValueGroup take_group(const std::vector<Piece>& pieces, size_t begin, bool takes_nouns) {
  return Group(pieces, begin, takes_nouns).take();
}

bool is_range(const std::vector<Piece>& pieces, const ValueGroup& left, const ValueGroup& right) {
  const size_t num_words = right.begin - left.end;
  if (is_change(pieces, left, right)) return true;
  if (right.begin <= left.end || num_words > 2) return false;
  const std::string_view word = pieces[left.end].text;
  if (is_one_of(word,
                {"in",   "out",   "through", "到", "至",        "から", "か",     "や",  "bis", "hasta", "до",
                 "till", "until", "of",      "by", "remainder", "rem",  "choose", "div", "на",  "إلى",   "से",
                 "乘",   "乘以",  "除以",    "减", "減",        "加",   "比",     "又",  "分之"}))
    return true;
  // 9 when x = 3
  const bool is_point = right.text.find('=') != std::string::npos &&
                        left.text.find_first_not_of("0123456789.,") == std::string::npos;
  if (is_point && is_one_of(word, {"when", "where", "for", "at", "if"})) return true;
  if (word != "to") return false;
  if (left.begin == 0 || pieces[left.begin - 1].is_mark('=')) return true;
  const WordRole role = word_role(word_at(pieces, left.begin - 1));
  return role == WordRole::kCopula || role == WordRole::kHedge;
}

}  // namespace cohort::answers
