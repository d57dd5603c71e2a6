#include "libs/answers/extraction.h"

#include <algorithm>
#include <stdexcept>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/announced_answer.h"
#include "libs/answers/internal/marked_answer.h"
#include "libs/answers/internal/numeral.h"
#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/tidy.h"
#include "libs/answers/internal/words.h"
#include "libs/common/answer_marks.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/nearest.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

bool is_marked(AnswerPlace place) { return place == AnswerPlace::kTag || place == AnswerPlace::kBoxed; }

std::string with_plain_percents(std::string_view text) {
  constexpr std::string_view kWide = "％";
  std::string plain;
  for (size_t at = text.find(kWide); at != std::string_view::npos; at = text.find(kWide)) {
    plain += text.substr(0, at);
    plain += "\\%";
    text.remove_prefix(at + kWide.size());
  }
  return plain += text;
}

// What is marked as an answer spells a percent sign in any width. In prose the wide one is a hundredth.
Finding with_plain_percent(Finding found) {
  if (found.text) found.text = with_plain_percents(*found.text);
  return found;
}

Finding find_plainly(AnswerPlace place, std::string_view text) {
  switch (place) {
    case AnswerPlace::kTag:
      return with_plain_percent(find_tagged(text));
    case AnswerPlace::kBoxed:
      return with_plain_percent(find_boxed(text));
    case AnswerPlace::kPhrase:
      return find_announced(text);
    case AnswerPlace::kExpression:
      break;
  }
  return find_concluded(text);
}

// With the reading in which commas and points part groups as in 1,23,456 and 12 500,75.
Finding find_at(AnswerPlace place, std::string_view text) {
  Finding found = find_plainly(place, text);
  if (!found.text) return found;
  std::string plain = with_plain_numerals(*found.text);
  if (plain != *found.text) found.others.push_back(std::move(plain));
  return found;
}

Finding find_in(std::string_view text, const std::vector<AnswerPlace>& places) {
  const bool is_cut = last_box(text).is_open;
  for (AnswerPlace place : places) {
    if (is_cut && place != AnswerPlace::kTag) continue;
    Finding found = find_at(place, text);
    if (!found.is_nothing()) return found;
  }
  return {std::nullopt, is_cut ? "an open box, of a text that was cut" : "", {}};
}

// Without what a calculator was asked: 5 + 7 = <<5+7=12>>12.
std::string without_calculations(std::string_view text) {
  constexpr std::string_view kOpen = "<<", kClose = ">>", kSigns = "0123456789.,+-*/()=%$ ";
  std::string plain;
  while (!text.empty()) {
    const size_t open = text.find(kOpen);
    plain += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + kOpen.size());
    const size_t end = text.find_first_not_of(kSigns);
    if (end != std::string_view::npos && text.substr(end).starts_with(kClose)) {
      text.remove_prefix(end + kClose.size());
    } else {
      plain += kOpen;
    }
  }
  return plain;
}

// Is it a sentence that holds a number, and no answer alone: "Adding gives 5."?
bool is_sentence(std::string_view text) {
  const std::optional<std::string> words = find_words(text);
  return words && trim(text).ends_with('.') && words->find_first_of("0123456789") != std::string::npos &&
         std::count(words->begin(), words->end(), ' ') >= 2;
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
      throw std::invalid_argument(
          str("unknown place \"", name, "\"; did you mean \"", nearest_name(name, known), "\"?"));
    }
    places.push_back(static_cast<AnswerPlace>(found - known.begin()));
  }
  return places.empty() ? default_places() : places;
}

Finding find_answer(std::string_view text, const std::vector<AnswerPlace>& places) {
  const std::string plain = to_plain(without_calculations(text));
  const std::string_view completion = plain;
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const size_t close = completion.rfind(kClose);
  const bool is_thinking =
      close == std::string_view::npos && completion.find(kOpen) != std::string_view::npos;
  const size_t begin = close == std::string_view::npos ? 0 : close + kClose.size();
  if (!is_thinking) {
    Finding found = find_in(completion.substr(begin), places);
    if (!found.is_nothing() || begin == 0) return found;
  }
  std::vector<AnswerPlace> marked;
  std::copy_if(places.begin(), places.end(), std::back_inserter(marked), is_marked);
  return find_in(completion, marked);
}

std::string describe_finding(const Finding& found) {
  if (!found.text) return found.refusal.empty() ? "none found" : found.refusal;
  std::string text = shown(*found.text);
  for (const std::string& other : found.others) text += str(" or ", shown(other));
  return text;
}

std::string find_gold_answer(std::string_view column) {
  const std::string plain = with_plain_percents(to_plain(without_calculations(column)));
  const std::string_view text = plain;
  const Finding marked = find_in(text, {AnswerPlace::kTag, AnswerPlace::kBoxed});
  if (marked.text) return *marked.text;
  const size_t marker = text.rfind("####");
  if (marker == std::string_view::npos && is_sentence(text))
    return find_in(text, {AnswerPlace::kPhrase, AnswerPlace::kExpression}).text.value_or("");
  return tidy(marker == std::string_view::npos ? text : text.substr(marker + 4));
}

}  // namespace cohort::answers
