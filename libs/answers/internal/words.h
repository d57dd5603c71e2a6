// Answers in words: yes, Tuesday, (B), (B) 12.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::answers {

/// The words of an answer, in lower case and without fonts, quotes and a final full stop; nothing for
/// mathematics and for choices.
std::optional<std::string> find_words(std::string_view text);

/// The letter of a choice such as (B), B., \textbf{(B)} or "option B"; nothing for other answers.
std::optional<char> find_choice(std::string_view text);

struct LabelledChoice {
  char letter;
  std::string_view text;
  bool is_denied = false;  ///< by the text: (B) is wrong
};

/// A choice's letter with its text: (B) 12, B. 12, \textbf{(B)}\ 12. Nothing for values that merely begin
/// with a letter, such as B + 12 or B: a ratio needs no space, and for several choices.
std::optional<LabelledChoice> find_labelled_choice(std::string_view text);

/// Does a word of a language stand in it, other than names of functions, "and" and "or"?
bool is_prose(std::string_view text);

}  // namespace cohort::answers
