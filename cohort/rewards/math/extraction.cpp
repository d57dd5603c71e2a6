#include "cohort/rewards/math/extraction.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"
#include "cohort/core/nearest.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/parser.h"
#include "cohort/rewards/math/symbols.h"
#include "cohort/rewards/math/words.h"

namespace cohort::math {
namespace {

using Text = std::optional<std::string_view>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Delimiters {
  std::string_view open, close;
};

constexpr Delimiters kFormulas[] = {{"$$", "$$"}, {"\\[", "\\]"}, {"\\(", "\\)"}, {"$", "$"}};

// The formula that begins at the start of `text`; `length` covers its delimiters.
Text formula_at(std::string_view text, size_t& length) {
  for (const Delimiters& delimiters : kFormulas) {
    if (text.substr(0, delimiters.open.size()) != delimiters.open) continue;
    const size_t begin = delimiters.open.size(), end = text.find(delimiters.close, begin);
    if (end == std::string_view::npos || end == begin) return std::nullopt;
    length = end + delimiters.close.size();
    return text.substr(begin, end - begin);
  }
  return std::nullopt;
}

// The first or last formula between delimiters, in linear time: an opening delimiter behind the last closing
// one of its kind is passed over.
Text find_formula(std::string_view text, bool is_last) {
  const size_t last_round = text.rfind("\\)"), last_square = text.rfind("\\]"), last_dollar = text.rfind('$');
  Text result;
  for (size_t i = 0; i + 1 < text.size();) {
    const std::string_view pair = text.substr(i, 2);
    const size_t last = pair == "\\("    ? last_round
                        : pair == "\\["  ? last_square
                        : text[i] == '$' ? last_dollar
                                         : 0;
    size_t length = text[i] == '\\' ? 2 : 1;
    const bool may_close = last != std::string_view::npos && last > i;
    if (const Text formula = may_close ? formula_at(text.substr(i), length) : Text()) {
      if (!is_last) return formula;
      result = formula;
    }
    i += length;
  }
  return result;
}

std::string_view without_emphasis(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n*:"), text.size());
  const size_t end = text.find_last_not_of(" \t\r\n*");
  return begin > end || end == std::string_view::npos ? std::string_view()
                                                      : text.substr(begin, end - begin + 1);
}

// The end of the sentence or line at the start of `text`.
size_t sentence_end(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return i;
    const bool is_last = i + 1 >= text.size();
    if (text[i] == '.' &&
        (is_last || std::isspace(static_cast<unsigned char>(text[i + 1])) || text[i + 1] == '*'))
      return i;
  }
  return text.size();
}

Text after_phrase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  size_t begin = 0;
  for (std::string_view phrase : {"answer is", "answer:", "answer**:"}) {
    const size_t found = lower.rfind(phrase);
    if (found != std::string::npos) begin = std::max(begin, found + phrase.size());
  }
  if (begin == 0) return std::nullopt;
  const std::string_view rest = without_emphasis(text.substr(begin));
  size_t length = 0;
  if (const Text formula = formula_at(rest, length)) return formula;
  const std::string_view sentence = rest.substr(0, sentence_end(rest));
  if (const Text formula = find_formula(sentence, false)) return formula;
  const std::string_view answer = without_emphasis(sentence);
  return answer.empty() ? Text() : Text(answer);
}

// The last number in prose, with its sign, as in "there are -5/3".
Text last_number(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  if (end == 0) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && (is_digit(text[begin - 1]) ||
                       std::string_view(".,/").find(text[begin - 1]) != std::string_view::npos)) {
    --begin;
  }
  while (!is_digit(text[begin]) && text[begin] != '.') ++begin;
  if (begin > 0 && text[begin - 1] == '-') --begin;
  if (end < text.size() && text[end] == '%') ++end;
  return text.substr(begin, end - begin);
}

// Does a word of a language stand in it, other than names of functions and "or"?
bool is_prose(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    while (i + length < text.size() && is_letter(text[i + length])) ++length;
    const std::string_view run = text.substr(i, length);
    if ((i == 0 || text[i - 1] != '\\') && !find_word(run) && is_wordy(run)) return true;
    i += std::max<size_t>(length, 1);
  }
  return false;
}

Text last_expression(std::string_view text) {
  constexpr size_t kMaxBareBytes = 200;
  const std::string_view bare = trim(text);
  ParseFailure failure;
  const bool is_line = bare.size() <= kMaxBareBytes && bare.find('\n') == std::string_view::npos;
  const bool has_digits = std::any_of(bare.begin(), bare.end(), is_digit);
  if (is_line && ((!has_digits && find_words(bare)) || (!is_prose(bare) && parse(bare, failure)))) {
    return bare.empty() ? Text() : Text(bare);
  }
  if (const Text formula = find_formula(text, true)) return formula;
  return last_number(text);
}

// Inside a tag or a formula there may be a box.
std::string_view unboxed(std::string_view text) { return last_box(text).inside.value_or(text); }

Text find_in(std::string_view text, const std::vector<AnswerPlace>& places) {
  const Box box = last_box(text);
  for (AnswerPlace place : places) {
    Text found;
    if (place == AnswerPlace::kTag) found = last_answer(text);
    if (place == AnswerPlace::kBoxed) found = box.inside;
    if (place == AnswerPlace::kPhrase && !box.is_open) found = after_phrase(text);
    if (place == AnswerPlace::kExpression && !box.is_open) found = last_expression(text);
    if (found) return trim(unboxed(*found));
  }
  return std::nullopt;
}

}  // namespace

const std::vector<AnswerPlace>& default_places() {
  static const std::vector<AnswerPlace> places = {AnswerPlace::kTag, AnswerPlace::kBoxed,
                                                  AnswerPlace::kPhrase, AnswerPlace::kExpression};
  return places;
}

std::vector<AnswerPlace> read_places(const std::vector<std::string>& names) {
  const std::vector<std::string> known = {"tag", "boxed", "phrase", "expression"};
  std::vector<AnswerPlace> places;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw ConfigError(str("reward.answer_places: unknown place \"", name, "\"; did you mean \"",
                            nearest_name(name, known), "\"?"));
    }
    places.push_back(static_cast<AnswerPlace>(found - known.begin()));
  }
  return places.empty() ? default_places() : places;
}

Text find_answer(std::string_view completion, const std::vector<AnswerPlace>& places) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const size_t close = completion.rfind(kClose);
  const bool is_thinking =
      close == std::string_view::npos && completion.find(kOpen) != std::string_view::npos;
  const size_t begin = close == std::string_view::npos ? 0 : close + kClose.size();
  if (!is_thinking) {
    const Text answer = find_in(completion.substr(begin), places);
    if (answer || begin == 0) return answer;
  }
  std::vector<AnswerPlace> marked;
  std::copy_if(places.begin(), places.end(), std::back_inserter(marked),
               [](AnswerPlace place) { return place == AnswerPlace::kTag || place == AnswerPlace::kBoxed; });
  return find_in(completion, marked);
}

std::string_view find_gold_answer(std::string_view text) {
  if (const Text answer = find_in(text, {AnswerPlace::kTag, AnswerPlace::kBoxed})) return *answer;
  const size_t marker = text.rfind("####");
  return trim(marker == std::string_view::npos ? text : text.substr(marker + 4));
}

}  // namespace cohort::math
