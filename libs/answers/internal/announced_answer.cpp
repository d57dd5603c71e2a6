#include "libs/answers/internal/announced_answer.h"

#include <algorithm>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/doubts.h"
#include "libs/answers/internal/equation_lines.h"
#include "libs/answers/internal/foreign_text.h"
#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/retraction.h"
#include "libs/answers/internal/tidy.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/answers/internal/words.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

constexpr size_t kNone = std::string_view::npos;

Finding refuse(std::string reason) { return {std::nullopt, std::move(reason)}; }

bool is_readable(std::string_view text) {
  ParseFailure failure;
  return parse(text, failure).has_value();
}

bool is_choice(std::string_view text) { return find_choice(text) || find_labelled_choice(text); }

// Three runs of letters that spaces part, or an apostrophe within a word: Il y en a 12. It's 12.
bool has_words_in_row(std::string_view text) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\'' && is_letter(text[i - 1]) && is_letter(text[i + 1])) return true;
  }
  int num_words = 0;
  for (size_t i = 0; i < text.size() && num_words < 3;) {
    const size_t end = word_length(text, i);
    const bool is_followed = end < text.size() && text[end] == ' ';
    num_words = end > i && (is_followed || num_words == 2) ? num_words + 1 : 0;
    i = std::max(end, i) + 1;
  }
  return num_words == 3;
}

bool is_formal(std::string_view text) {
  return !is_prose(text) && !has_words_in_row(text) && is_readable(text);
}

struct Announcement {
  size_t begin = kNone, end = 0;
};

constexpr std::string_view kPhrases[] = {
#define COHORT_ANNOUNCEMENT(phrase) phrase,
#include "libs/answers/internal/announcements.def"
#undef COHORT_ANNOUNCEMENT
};

// 选B: a verb that a letter follows.
bool names_choice(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" (*"), rest.size()));
  const bool is_letter_alone = rest.size() < 2 || !is_letter(rest[1]);
  return !rest.empty() && rest[0] >= 'A' && rest[0] <= 'J' && is_letter_alone;
}

Announcement last_announcement(const std::string& lower, std::string_view text) {
  Announcement last;
  const auto take = [&last](size_t begin, size_t length) {
    if (begin != kNone && (last.begin == kNone || begin > last.begin)) last = {begin, begin + length};
  };
  for (const std::string_view phrase : kPhrases) take(lower.rfind(phrase), phrase.size());
  const size_t shortened = lower.rfind("ans:");
  if (shortened == 0 || (shortened != kNone && !is_letter(lower[shortened - 1]))) take(shortened, 4);
  for (const std::string_view verb : {"选择", "選擇", "选", "選"}) {
    const size_t found = text.rfind(verb);
    if (found != kNone && names_choice(text.substr(found + verb.size()))) take(found, verb.size());
  }
  return last;
}

bool is_word_of(const Piece& piece, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), lower_case(piece.text)) != words.end();
}

// The first answer is, another answer is, the wrong answer is.
bool is_one_of_several(const std::vector<Piece>& pieces) {
  return !pieces.empty() &&
         (denies_answer(pieces.back().text) ||
          is_word_of(pieces.back(), {"first", "second", "third", "fourth", "one", "another", "other",
                                     "alternative", "previous", "另一个", "第一个", "其他"}));
}

// Is the announcement one of several, a condition or a denial: "or the answer is 8", "I do not think the
// answer is 5"?
bool is_doubted(std::string_view before) {
  constexpr size_t kMaxBytes = 300, kNearWords = 4;
  if (before.size() > kMaxBytes) before.remove_prefix(before.size() - kMaxBytes);
  const size_t stop = before.find_last_of(".!?\n,;:");
  if (stop != kNone) before.remove_prefix(stop + 1);
  const std::vector<Sentence> sentences = read_sentences(before, 1);
  if (sentences.empty()) return false;
  const std::vector<Piece>& pieces = sentences[0].pieces;
  if (is_one_of_several(pieces)) return true;
  for (size_t i = pieces.size(); i-- > 0;) {
    const WordRole role = word_role(pieces[i].text);
    const bool is_near = i + kNearWords >= pieces.size();
    const bool is_and = role == WordRole::kJoiner && joins_all(pieces[i].text);
    if (is_and || role == WordRole::kTurn) return false;
    const bool is_denial =
        role == WordRole::kNegation && !(i + 1 < pieces.size() && is_harmless_behind_not(pieces[i + 1].text));
    const bool is_refuted =
        denies_answer(pieces[i].text) && i + 1 < pieces.size() && is_word_of(pieces[i + 1], {"that", "to"});
    if (is_denial || is_refuted || role == WordRole::kDoubt || (is_near && role == WordRole::kJoiner))
      return true;
  }
  return false;
}

// The words before "because" and the like, where no value stands before it.
std::string_view words_before_reason(const Sentence& sentence) {
  for (const Piece& piece : sentence.pieces) {
    if (piece.is_math()) break;
    for (const std::string_view reason : {"because", "since", "which", "where", "not"}) {
      if (piece.text == reason) return sentence.text.substr(0, piece.text.data() - sentence.text.data());
    }
  }
  return sentence.text;
}

std::string without_stop(std::string_view text) {
  std::string core = tidy(text);
  while (core.ends_with('.') || core.ends_with('!')) {
    core.pop_back();
    core = tidy(core);
  }
  return core;
}

// The value in "five (5)".
std::optional<std::string> value_in_brackets(const std::string& core) {
  const size_t open = core.find('(');
  if (open == 0 || open == std::string::npos || !core.ends_with(')')) return std::nullopt;
  const std::string value = core.substr(open + 1, core.size() - open - 2);
  const std::string words(trim(core.substr(0, open)));
  return find_words(words) && judge(words, value).verdict.is_equal() ? std::optional(value) : std::nullopt;
}

Finding read_first_sentence(const Sentence& sentence) {
  const std::string core = without_stop(sentence.text);
  if (is_choice(core)) return {core};
  if (std::optional<std::string> value = value_in_brackets(core)) return {std::move(value)};
  const std::string words = without_stop(words_before_reason(sentence));
  const bool is_denied = core.find(" not ") != kNone;
  if (words != core && (is_choice(words) || (!is_denied && find_words(words)))) return {words};
  Finding stated = read_stated(sentence);
  if (!sentence.pieces.empty() && sentence.pieces.front().is_cut) return stated;
  const bool has_words = std::any_of(sentence.pieces.begin(), sentence.pieces.end(), [](const Piece& piece) {
    return piece.kind == Piece::Kind::kWord && word_role(piece.text) != WordRole::kJoiner;
  });
  if (!stated.text && !has_words && is_formal(core)) return {core};
  if (stated.is_nothing() && !core.empty()) return {core};
  return stated;
}

Finding read_behind(std::string_view rest) {
  const size_t begin = std::min(rest.find_first_not_of(" \t\r\n*:_"), rest.size());
  const bool is_new_line = rest.substr(0, begin).find('\n') != kNone;
  rest.remove_prefix(begin);
  if (std::optional<std::string> equations = leading_equations(rest)) return {std::move(equations)};
  if (is_new_line) rest = without_bullet(rest);
  const std::vector<Sentence> sentences = read_sentences(rest, 1);
  if (sentences.empty()) return {};
  const Sentence& first = sentences[0];
  const std::string_view behind = rest.substr(first.text.data() + first.text.size() - rest.data());
  if (const size_t retraction = find_retraction(behind, true); retraction != kNone) {
    Finding concluded = find_concluded(behind.substr(retraction));
    return concluded.is_nothing() ? refuse("the answer is taken back") : concluded;
  }
  if (first.is_question) return refuse("the answer is put as a question");
  const std::vector<Sentence> next = read_sentences(behind, 1);
  if (!next.empty() && offers_another(next[0])) return refuse("another answer follows");
  return read_first_sentence(first);
}

// The answer in the line of the last ####, which may be a heading instead.
Finding read_marker_line(std::string_view behind) {
  const std::string_view line = behind.substr(0, behind.find('\n'));
  const std::string text = tidy(line);
  if (text.empty()) return {};
  const bool is_last = trim(behind.substr(line.size())).empty();
  if (std::string fault = find_fault_of(text); is_last && !fault.empty()) return refuse(std::move(fault));
  if (is_formal(text) || is_choice(text) || (is_last && (is_readable(text) || find_words(text))))
    return {text};
  const std::vector<Sentence> sentences = read_sentences(text, 1);
  const bool begins_with_value = !sentences.empty() && sentences[0].pieces[0].is_math();
  if (!is_last || !begins_with_value) return {};
  Finding stated = read_behind(line);
  return stated.is_nothing() ? refuse("the line of #### holds no answer") : stated;
}

// Do words of it belong to languages with decimal commas, where a point parts thousands? One with a letter
// beyond ASCII, such as "beträgt", or two of those that English may have, such as "ist".
bool has_decimal_commas(std::string_view text) {
  constexpr size_t kMaxBytes = 1000;
  if (text.size() > kMaxBytes) text.remove_prefix(text.size() - kMaxBytes);
  int weight = 0;
  for (const Sentence& sentence : read_sentences(text)) {
    for (const Piece& piece : sentence.pieces) {
      if (piece.kind != Piece::Kind::kWord || !has_decimal_comma(piece.text)) continue;
      const bool is_foreign = std::any_of(piece.text.begin(), piece.text.end(),
                                          [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
      weight += is_foreign ? 2 : 1;
    }
  }
  return weight >= 2;
}

// The answer with what its text says where the comma is that of a decimal, or the point that of thousands.
Finding with_decimal_readings(Finding found, std::string_view text) {
  if (!found.text) return found;
  std::string decimal = with_decimal_points(*found.text), whole = without_thousands_point(*found.text);
  if (decimal != *found.text) found.others.push_back(std::move(decimal));
  if (whole != *found.text && has_decimal_commas(text)) found.others.push_back(std::move(whole));
  return found;
}

Finding find_stated(std::string_view text) {
  const std::string lower = lower_case(text);
  const Announcement phrase = last_announcement(lower, text);
  const size_t marker = text.rfind("####");
  if (marker != kNone && (phrase.begin == kNone || marker > phrase.begin)) {
    Finding marked = read_marker_line(text.substr(marker + 4));
    if (!marked.is_nothing()) return marked;
  }
  if (phrase.begin == kNone) return {};
  const std::string_view rest = text.substr(phrase.end);
  if (lower.compare(phrase.end, 3, "n't") == 0 || rest.starts_with("n\u2019t"))
    return refuse("an answer is denied");
  if (is_doubted(text.substr(0, phrase.begin))) return refuse("the answer is in doubt");
  return read_behind(rest);
}

Finding find_conclusion(std::string_view text) {
  constexpr size_t kMaxBareBytes = 200;
  const std::string_view all = trim(text);
  if (all.size() <= kMaxBareBytes && all.find('\n') == kNone) {
    const std::string bare = tidy(all);
    const bool has_digits =
        std::any_of(bare.begin(), bare.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool has_formula = bare.find('$') != kNone;
    const bool is_answer =
        is_choice(bare) || is_formal(bare) || (!has_digits && !has_formula && find_words(bare));
    if (!bare.empty() && is_answer) return {bare};
  }
  if (std::optional<std::string> equations = trailing_equations(text)) return {std::move(equations)};
  const std::vector<Sentence> sentences = read_sentences(text);
  for (const Piece::Kind kind : {Piece::Kind::kFormula, Piece::Kind::kBare}) {
    const auto last = std::find_if(sentences.rbegin(), sentences.rend(), [kind](const Sentence& sentence) {
      return !sentence.is_question && sentence.has(kind);
    });
    if (last != sentences.rend()) return read_concluding(*last, kind == Piece::Kind::kFormula);
  }
  return {};
}

}  // namespace

Finding find_announced(std::string_view text) { return with_decimal_readings(find_stated(text), text); }

Finding find_concluded(std::string_view text) { return with_decimal_readings(find_conclusion(text), text); }

}  // namespace cohort::answers
